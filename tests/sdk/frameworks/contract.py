"""What holds with every framework, tried as a reader of its page does: the blocks are saved and run as they stand.

``my_app.py`` beside them is apps/NAME.py, with a model that follows a script. TOLD says what it does.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from elicit_flows.sdk import Elicitation
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.docs.page import found
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

    def __init__(self, folder: Path, name: str, page: str, service: Service) -> None:
        self.folder, self.service, self.began = folder, service, datetime.now(UTC)
        self.python = environment(f"framework-{name}")
        run = f"run-{uuid.uuid4().hex[:8]}"
        self._told: dict[str, Any] = {"user": [service.sandbox_url, "alice"], "run": run, "calls": []}
        self._running: list[Process] = []
        for block in found(page, name):
            (folder / block.argument).write_text(block.text)
        shutil.copyfile(PROJECT / f"tests/sdk/frameworks/apps/{name.replace('-', '_')}.py", folder / "my_app.py")

    def model_calls(self, tool: str, **arguments: Any) -> None:
        """The model calls a tool, once more for each time this is said."""
        self._told["calls"].append([f"call_{uuid.uuid4().hex[:8]}", tool, arguments])

    @property
    def env(self) -> dict[str, str]:
        known = {"ELICIT_URL": self.service.url, "ELICIT_API_KEY": self.service.api_key, **ALONE}
        paths = {"HOME": str(self.folder), "PYTHONPATH": f"{self.folder}:{PROJECT}", "PYTHONDONTWRITEBYTECODE": "1"}
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
        process = Process([self.python, file], self.folder / f"{file}.log", env=self.env, cwd=self.folder)
        self._running.append(process)
        process.start()
        until(lambda: wanted in process.output() or not process.alive, f"{file} prints {wanted}", timeout=SECONDS)
        assert wanted in process.output(), process.output()[-5000:]
        process.stop()
        return process.output()

    def asked(self) -> list[Elicitation]:
        """The questions since this author began."""
        with self.service.sync_elicit() as elicit:
            return [one for one in elicit.elicitations() if one.created_at and one.created_at > self.began]

    def close(self) -> None:
        for process in self._running:
            process.stop()


@pytest.mark.slow
@pytest.mark.limit(600)
class Contract:
    """``name``: the runner of the page's blocks, and the framework's environment: framework-NAME."""

    name: ClassVar[str]
    page: ClassVar[str]

    @pytest.fixture
    def author(self, tmp_path: Path, elicit_box: Service) -> Iterator[Author]:
        with ExitStack() as stack:
            author = Author(tmp_path, self.name, self.page, elicit_box)
            stack.callback(author.close)
            yield author

    def test_another_process_resumes_the_run_and_the_tool_works(self, author: Author, alice: ScriptedUser) -> None:
        author.model_calls("wipe", folder="reports")
        [link] = author.links("start.py")
        alice.submit(link)
        assert "cancelled" not in author.prints("resume.py", "reports is gone")
        [asked] = author.asked()  # the call was made twice, in two processes
        assert asked.consumed_at is not None

    def test_the_model_is_told_of_a_no(self, author: Author, alice: ScriptedUser) -> None:
        author.model_calls("wipe", folder="reports")
        [link] = author.links("start.py")
        alice.decline(link)
        assert "is gone" not in author.prints("resume.py", "The user said no.")
        assert len(author.asked()) == 1
