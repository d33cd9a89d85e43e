"""The blocks of docs/how-to/typescript-sdk.md and of the package's README: type-checked, and run."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.test_webhooks import BODY, KEY, secret, signed
from tests.sdk.typescript.conftest import PACKAGE, PROGRAMS, SAME, Program, TypeScript
from tests.support.process import PROJECT, clean_env

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]

PAGE = "how-to/typescript-sdk.md"
TEXT = (PROJECT / "docs" / PAGE).read_text(encoding="utf-8")
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
BEFORE = """
const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const user = [process.env["ISS"] ?? "", "alice"] as const;
const sendToUser = (url: string): void => say("link", url);
const { headers, body, secret: webhookSecret } = JSON.parse(process.env["WEBHOOK"] ?? "{}");
const dealtWith = new Set<string>();
"""
# What each block leaves behind, by the heading above it.
AFTER = {
    "Ask and wait": 'say("left", token.tokenType);',
    "Outcomes": 'say("left", answer);',
    "Errors": 'say("left", why);',
    "Waiting for long": 'say("left", [elicitation.over, outcome.status, outcome.elicitation.id === kept]);',
    "Events": 'say("left", [cursor !== null]);',
    "Charge later": """
        const made: unknown[] = [];
        for await (const one of elicit.charges(allowed)) made.push([one["amount"], one["status"]]);
        say("left", [made, (await elicit.endMandate(allowed))["status"]]);
    """,
    "Webhooks": """
        const arrived = (body: string): Request => new Request("http://127.0.0.1/", { method: "POST", headers, body });
        const statuses = [(await receive(arrived(body))).status, (await receive(arrived(`${body} `))).status];
        say("left", [...statuses, [...dealtWith]]);
    """,
}
Run = Callable[..., Program]


def block(heading: str) -> str:
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    [found] = re.findall(r"```ts sdk\n(.*?)```", section, re.DOTALL)
    return str(found)


def file_of(heading: str) -> str:
    return heading.lower().replace(" ", "_")


def readme() -> str:
    [found] = re.findall(r"```ts\n(.*?)```", README, re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def compiled(typescript: TypeScript) -> Path:
    """Every block as a program, which the type checker has nothing to say against."""
    folder = typescript.home / "docs"
    folder.mkdir()
    for heading, after in AFTER.items():
        (folder / f"{file_of(heading)}.ts").write_text(BEFORE + block(heading) + after)
    (folder / "readme.ts").write_text(readme())
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text((PROGRAMS / "tsconfig.json").read_text())
    assert typescript.compile(folder, SAME) == {}
    return folder


@pytest.fixture
def run(
    typescript: TypeScript, compiled: Path, elicit_service: Service, tmp_path: Path
) -> Iterator[Callable[..., Program]]:
    started: list[Program] = []

    def run(name: str, **env: str) -> Program:
        env |= {"ELICIT_URL": elicit_service.url, "ELICIT_API_KEY": elicit_service.api_key}
        env["ISS"] = elicit_service.sandbox_url
        command = [str(typescript.node), str(compiled / f"{name}.js")]
        one = Program(command, tmp_path / "log", env=clean_env(env), cwd=tmp_path)
        started.append(one)
        one.start()
        return one

    yield run
    for one in started:
        one.kill9()


def left(program: Program) -> Any:
    program.wait_for_output(r'(?m)^\{"left":')
    [said] = program.said("left")
    return said


def test_ask_and_wait(run: Run, stranger: ScriptedUser) -> None:
    program = run("ask_and_wait")
    stranger.allow(program.link())
    assert left(program) == "Bearer"


def test_outcomes(run: Run, alice: ScriptedUser) -> None:
    program = run("outcomes")
    alice.decline(program.link())
    assert left(program) == "They said no."


def test_errors(run: Run) -> None:
    assert re.fullmatch(r"params\.amount: Give a whole .* \[invalid, request [0-9a-f]{16}\]", left(run("errors")))


def test_waiting_for_long(run: Run, alice: ScriptedUser) -> None:
    program = run("waiting_for_long")
    alice.submit(program.link())
    assert left(program) == [True, "completed", True]


def test_events(run: Run, alice: ScriptedUser) -> None:
    program = run("events")
    alice.submit(program.link())
    assert left(program) == [True]


def test_charge_later(run: Run, alice: ScriptedUser) -> None:
    program = run("charge_later")
    alice.pay(program.link())
    assert left(program) == [[[1290, "paid"]], "ended"]


def test_webhooks(run: Run) -> None:
    hook = {"headers": signed(KEY, BODY, time.time()), "body": BODY.decode(), "secret": secret(KEY)}
    assert left(run("webhooks", WEBHOOK=json.dumps(hook))) == [204, 400, ["ev_1"]]


def test_the_program_of_the_readme(run: Run, compiled: Path, elicit_service: Service, stranger: ScriptedUser) -> None:
    program = (compiled / "readme.js").read_text()
    (compiled / "readme_here.js").write_text(program.replace("http://127.0.0.1:8001", elicit_service.sandbox_url))
    running = run("readme_here")
    stranger.allow(running.wait_for_output(r"(?m)^(http\S+)$")[1])
    running.wait_for_output(r"Bearer \[ 'files.read' \]")


def test_it_is_installed_as_the_page_says(typescript: TypeScript, tmp_path: Path) -> None:
    """In a folder that looks like a clone."""
    [commands] = re.findall(r"```sh typescript\n(.*?)```", TEXT, re.DOTALL)
    clone, agent = tmp_path / "clone", tmp_path / "my-agent"
    (clone / "clients").mkdir(parents=True)
    agent.mkdir()
    (clone / "tests").symlink_to(PROJECT / "tests")
    (clone / "clients" / "typescript").symlink_to(typescript.installed)
    env = clean_env({"npm_config_offline": "true"})
    ran = subprocess.run(
        ["/bin/sh", "-e", "-c", commands], cwd=clone, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    asked = 'import { Elicit } from "elicit-flows"; console.log(new Elicit({ apiKey: "k" }) instanceof Elicit)'
    command = [str(typescript.node), "--input-type=module", "-e", asked]
    said = subprocess.run(command, cwd=agent, capture_output=True, text=True, check=True).stdout
    assert said == "true\n"


def test_every_block_of_the_page_is_run_by_one_of_these() -> None:
    assert {heading for heading in re.findall(r"^## (.*)$", TEXT, re.MULTILINE) if block(heading)} == set(AFTER)
    assert len(AFTER) + 1 == TEXT.count("```") / 2
    assert README.count("```") == 2
