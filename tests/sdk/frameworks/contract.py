"""What holds with every framework, tried as a reader of its page does: the blocks are saved and run as they stand.

Nothing is installed there but the package's wheel and what the page names.

``my_app.py`` beside them is apps/NAME.py, with a model that follows a script. TOLD says what it does.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from packaging.requirements import Requirement

from elicit_flows.sdk import Elicitation
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.docs.page import found
from tests.sdk.hooks import Hooks
from tests.support.environments import environment
from tests.support.process import PROJECT, Process, clean_env, until

SECONDS = 120.0
# No framework reaches another machine, whatever it would tell its makers.
ALONE = {
    "ANONYMIZED_TELEMETRY": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "LANGSMITH_TRACING": "false",
    "NO_PROXY": "127.0.0.1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}


class Author:
    """Types in what a page shows, in ``folder``, and runs it in the framework's environment."""

    def __init__(self, folder: Path, name: str, page: str, service: Service, installed: Path) -> None:
        self.folder, self.service, self.began = folder, service, datetime.now(UTC)
        self._installed = installed
        self.python = environment(f"framework-{name}")
        self._told: dict[str, Any] = {"user": [service.sandbox_url, "alice"]}
        self.new_run()
        self._running: list[Process] = []
        for block in found(page, name):
            (folder / block.argument).write_text(block.text)
        shutil.copyfile(PROJECT / f"tests/sdk/frameworks/apps/{name.replace('-', '_')}.py", folder / "my_app.py")

    def new_run(self) -> None:
        self._told |= {"run": f"run-{uuid.uuid4().hex[:8]}", "calls": []}

    def model_calls(self, tool: str, **arguments: Any) -> None:
        """The model calls a tool, once more for each time this is said."""
        self._told["calls"].append([f"call_{uuid.uuid4().hex[:8]}", tool, arguments])
        (self.folder / "told.json").write_text(json.dumps(self._told))  # for programs that have begun already

    @property
    def env(self) -> dict[str, str]:
        known = {"ELICIT_URL": self.service.url, "ELICIT_API_KEY": self.service.api_key, **ALONE}
        paths = {"HOME": str(self.folder), "PYTHONPATH": f"{self.folder}:{self._installed}"}
        return clean_env({**known, **paths, "TOLD": json.dumps(self._told)})

    def links(self, file: str) -> list[str]:
        """Run a program to its end; the links that it prints."""
        ran = subprocess.run(
            [self.python, file], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-5000:]
        return [line for line in ran.stdout.splitlines() if line.startswith(self.service.url)]

    def prints(self, file: str, wanted: str) -> str:
        """Run a program that does not end until it has printed ``wanted``; all that it printed by then."""
        process = self._started(file)
        printed = says(process, wanted)
        process.stop()
        return printed

    def receives(self, hooks: Hooks) -> Process:
        """Start the page's web app, which prints what comes of the runs."""
        command = ["-m", "uvicorn", "webhook:app", "--port", str(hooks.port)]
        process = self._started(*command, WEBHOOK_SECRET=hooks.secret)
        says(process, "Uvicorn running")
        return process

    def _started(self, *command: str, **more: str) -> Process:
        log = self.folder / f"{len(self._running)}.log"
        process = Process([self.python, *command], log, env={**self.env, **more}, cwd=self.folder)
        self._running.append(process)
        process.start()
        return process

    def asked(self) -> list[Elicitation]:
        """The questions since this author began."""
        with self.service.sync_elicit() as elicit:
            return [one for one in elicit.elicitations() if one.created_at and one.created_at > self.began]

    def close(self) -> None:
        for process in self._running:
            process.stop()


def says(process: Process, *wanted: str) -> str:
    """All that a program has printed when it has printed all that is ``wanted``."""
    missing = lambda: [one for one in wanted if one not in process.output()]  # noqa: E731
    until(lambda: not missing() or not process.alive, f"it prints {wanted}", timeout=SECONDS)
    assert not missing(), process.output()[-5000:]
    return process.output()


@pytest.mark.slow
@pytest.mark.limit(600)
class Contract:
    """``name``: the runner of the page's blocks, and the framework's environment: framework-NAME."""

    name: ClassVar[str]
    page: ClassVar[str]

    @pytest.fixture
    def author(self, tmp_path: Path, elicit_box: Service, installed: Path) -> Iterator[Author]:
        with ExitStack() as stack:
            author = Author(tmp_path, self.name, self.page, elicit_box, installed)
            stack.callback(author.close)
            yield author

    def test_another_process_resumes_the_run_and_the_tool_works(self, author: Author, alice: ScriptedUser) -> None:
        author.model_calls("wipe", folder="reports")
        [link] = author.links("start.py")
        alice.submit(link)
        assert "cancelled" not in author.prints("feed.py", "reports is gone")
        [asked] = author.asked()  # the call was made twice, in two processes
        assert asked.consumed_at is not None

    def test_the_model_is_told_of_a_no(self, author: Author, alice: ScriptedUser) -> None:
        author.model_calls("wipe", folder="reports")
        [link] = author.links("start.py")
        alice.decline(link)
        assert "is gone" not in author.prints("feed.py", "The user said no.")
        assert len(author.asked()) == 1

    def test_the_page_says_what_to_install(self) -> None:
        """The same as the environment of these tests has."""
        said = re.findall(r'`pip install "\.\[([\w-]+)\]"([\w -]*)`', (PROJECT / "docs" / self.page).read_text())
        wanted = (PROJECT / f"tests/peers/python/framework-{self.name}.in").read_text().split("\n-r sdk.in\n")[1]
        extra = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"][self.name]
        brought = {Requirement(one).name for one in extra}
        more = {Requirement(line).name for line in wanted.splitlines()} - brought
        assert [(name, set(packages.split())) for name, packages in said] == [(self.name, more)]

    def test_a_webhook_resumes_the_run(self, author: Author, hooks: Hooks, alice: ScriptedUser) -> None:
        app = author.receives(hooks)
        author.model_calls("wipe", folder="reports")
        [link] = author.links("start.py")
        hooks.wait_until_delivered()
        assert "is gone" not in app.output()
        alice.submit(link)
        says(app, "reports is gone")
        hooks.wait_until_delivered()
        assert "cancelled" not in app.output()
        assert len(author.asked()) == 1


class TwoCallsContract(Contract):
    """For frameworks whose runs wait at several calls of one turn."""

    def test_two_calls_of_one_turn_are_answered_in_any_order(
        self, author: Author, hooks: Hooks, alice: ScriptedUser
    ) -> None:
        """Each gets its link, and the run is over when both are answered; nobody is sent a link twice."""
        app = author.receives(hooks)
        for number, (order, waits) in enumerate([((0, 1), True), ((1, 0), True), ((0, 1), False)]):
            author.new_run()
            folders = [f"{folder}-{number}" for folder in ("reports", "letters")]
            for folder in folders:
                author.model_calls("wipe", folder=folder)
            links = author.links("start.py")
            assert len(links) == 2
            for which in order:
                alice.submit(links[which])
                if waits:
                    hooks.wait_until_delivered()
            says(app, *[f"{folder} is gone" for folder in folders])
            hooks.wait_until_delivered()
        assert hooks.service.url not in app.output()
        assert len(author.asked()) == 6
        for told in ("cancelled", "waiting"):
            assert told not in app.output()
