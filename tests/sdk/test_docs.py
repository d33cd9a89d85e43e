"""Every block of docs/sdk.md is run, against the service and the sandbox as the plug-in starts them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from elicit_flows.sdk import Completed
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser
from tests.support.process import PROJECT, clean_env

PAGE = (PROJECT / "docs/sdk.md").read_text(encoding="utf-8")
TESTED = {
    "Ask and wait", "Without await", "Outcomes", "Waiting for long", "Events", "Forms that several people fill in",
    "Webhooks", "Tests of your agent",
}  # fmt: skip
Run = Callable[..., dict[str, Any]]

AGENT = """
import httpx2
from elicit_flows.sdk import SyncElicit

def list_files(user, show):
    with SyncElicit() as elicit:
        token = elicit.token(elicit.oauth(user, "acme", scopes=["files.read"], message="List.", on_url=show))
    answer = httpx2.get(f"{user.iss}/acme/api/files", headers={"Authorization": token.authorization}, trust_env=False)
    return [file["name"] for file in answer.json()["files"]]
"""


def blocks(heading: str) -> list[str]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("elicit")) as started:
        yield started


@pytest.fixture
def run(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs the one block below a heading, which may await at its top; what it leaves behind by name."""
    monkeypatch.setenv("ELICIT_URL", service.url)
    monkeypatch.setenv("ELICIT_API_KEY", service.api_key)
    alice = service.user("alice")

    def run(heading: str, **names: Any) -> dict[str, Any]:
        [block] = blocks(heading)
        names |= {"user": alice.claim, "send_to_user": lambda url: says_yes(alice, url)}
        code = compile(block, "docs/sdk.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        left = eval(code, names)
        if inspect.isawaitable(left):
            asyncio.run(awaited(left))
        return names

    yield run
    alice.close()


async def awaited(left: Any) -> None:
    await left


def says_yes(user: ScriptedUser, url: str) -> None:
    user.open(url)
    for action in ["submit"] if "submit" in user.page.forms else ["continue", "allow"]:
        user.press(action)


def test_ask_and_wait(run: Run) -> None:
    assert run("Ask and wait")["token"].token_type == "Bearer"


def test_without_await(run: Run) -> None:
    assert run("Without await")["token"].token_type == "Bearer"


def test_outcomes(run: Run) -> None:
    assert run("Outcomes")["answer"] == "done"


def test_waiting_for_long(run: Run) -> None:
    left = run("Waiting for long")
    assert left["elicitation"].over
    assert isinstance(left["outcome"], Completed)
    assert left["outcome"].elicitation.id == left["kept"]


def test_events(run: Run) -> None:
    left = run("Events")
    assert left["event"].data["status"] == "completed"
    assert left["cursor"] == left["event"].cursor is not None


def test_forms_that_several_people_fill_in(run: Run) -> None:
    form = run("Forms that several people fill in")["form"]
    assert form.message == "For the project, which begins on Monday."
    assert form.result == {"content": {"name": "Atlas"}}


def test_webhooks(run: Run) -> None:
    secret, body = "whsec_" + "A" * 43 + "=", b'{"id": "ev_1", "type": "elicitation.completed", "data": {}}'
    left = run("Webhooks", webhook_secret=secret, dealt_with=set())
    now = datetime.now(UTC)
    headers = {"webhook-id": "ev_1", "webhook-timestamp": str(int(now.timestamp()))}
    headers["webhook-signature"] = Webhook(secret).sign("ev_1", now, body.decode())
    assert left["receive"](headers, body) == 204
    assert left["dealt_with"] == {"ev_1"}
    assert left["receive"](headers, body + b" ") == 400


def test_tests_of_your_agent(tmp_path: Path) -> None:
    names = ["conftest.py", "test_agent.py"]
    for name, text in zip([*names, "my_agent.py"], [*blocks("Tests of your agent"), AGENT], strict=True):
        (tmp_path / name).write_text(text)
    env = clean_env({"PYTHONPATH": f"{PROJECT}:{tmp_path}", "ELICIT_CHECKOUT": str(PROJECT)})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:django", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


def test_every_block_of_the_page_is_run_by_one_of_these() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert {heading for heading in headings if blocks(heading)} == TESTED
    assert sum(len(blocks(heading)) for heading in headings) == PAGE.count("```") / 2
