"""The programs of a page on a framework, and steps of runs that pause: each step is a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from elicit_flows.sdk.testing import Service
from tests.docs.page import found
from tests.sdk.hooks import Hooks
from tests.sdk.typescript.conftest import Program, TypeScript
from tests.support.process import clean_env

PROGRAMS = Path(__file__).with_name("programs")


class Start(Protocol):
    def __call__(self, framework: Framework, name: str, hooks: Hooks | None = None, **env: str) -> Program: ...


class Framework:
    """A folder with the programs of a page and of the tests, compiled, and the framework in ``node_modules``."""

    def __init__(self, typescript: TypeScript, name: str, page: tuple[str, str], packages: dict[str, Path]) -> None:
        self.node = typescript.node
        self.folder = typescript.home / name
        self.pages = {block.argument: block.text for block in found(*page)}
        (self.folder / "node_modules").mkdir(parents=True)
        for package, where in packages.items():
            link = self.folder / "node_modules" / package
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(where)
        for file, text in self.pages.items():
            (self.folder / file).write_text(text)
        shutil.copy(PROGRAMS / "tsconfig.json", self.folder)
        (self.folder / "package.json").write_text('{"type": "module"}')
        self._typescript = typescript

    def add(self, program: str, name: str = "") -> None:
        shutil.copy(PROGRAMS / program, self.folder / (name or program))

    def compile(self, issuer: str) -> None:
        """For the service of this run. The type checker must have nothing to say."""
        for file in self.folder.glob("*.ts"):
            file.write_text(file.read_text().replace("http://127.0.0.1:8001", issuer))
        assert self._typescript.compile(self.folder) == {}


@pytest.fixture
def start(elicit_service: Service, tmp_path: Path) -> Iterator[Start]:
    """Starts a program of the page, which follows the feed from now on where it follows it, or is sent the webhooks."""
    started: list[Program] = []
    with elicit_service.sync_elicit() as elicit:
        newest = elicit.newest()

    def start(framework: Framework, name: str, hooks: Hooks | None = None, **env: str) -> Program:
        here = framework.folder / f"{name}-{tmp_path.name}.js"
        text = (framework.folder / f"{name}.js").read_text()
        text = text.replace("const stored = null", f"const stored = {json.dumps(newest)}")
        env = {"ELICIT_URL": elicit_service.url, "ELICIT_API_KEY": elicit_service.api_key, **env}
        if hooks:
            text = text.replace("listen(9000)", f"listen({hooks.port}, () => console.log('listens'))")
            env["WEBHOOK_SECRET"] = hooks.secret
        here.write_text(text)
        one = Program([str(framework.node), str(here)], tmp_path / name, env=env, cwd=tmp_path)
        started.append(one)
        one.start()
        if hooks:
            one.wait_for_output("listens")
        return one

    yield start
    for one in started:
        one.kill9()


class Steps:
    """Runs steps of one chat or run; ``said`` is what the last one said, by the word."""

    def __init__(self, framework: Framework, service: Service, home: Path) -> None:
        self._framework = framework
        self.env = clean_env({"ELICIT_URL": service.url, "ELICIT_API_KEY": service.api_key})
        self._home = home
        self.links: list[str] = []

    def __call__(self, *given: str) -> dict[str, Any]:
        command = [str(self._framework.node), str(self._framework.folder / "scenes.js"), *given]
        ran = subprocess.run(command, cwd=self._home, env=self.env, capture_output=True, text=True, check=False)
        lines = ran.stdout.splitlines()
        assert '{"end":true}' in lines, ran.stdout + ran.stderr
        self.links = [line for line in lines if line.startswith("http")]
        said: dict[str, list[Any]] = {}
        for line in lines:
            if line.startswith('{"'):
                for word, value in json.loads(line).items():
                    said.setdefault(word, []).append(value)
        return {word: values[0] if len(values) == 1 else values for word, values in said.items()}


NewSteps = Callable[[Framework], Steps]


@pytest.fixture
def steps(elicit_service: Service, tmp_path: Path) -> NewSteps:
    return lambda framework: Steps(framework, elicit_service, tmp_path)


@pytest.fixture
def asked(elicit_service: Service) -> Callable[[str], str]:
    """The id of the elicitation behind a link."""

    def asked(link: str) -> str:
        with elicit_service.sync_elicit() as elicit:
            return next(one.id for one in elicit.elicitations() if one.url == link)

    return asked
