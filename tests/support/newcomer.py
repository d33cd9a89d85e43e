"""A copy of the project in which the service and the sandbox run, as ``make run`` starts them."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.http_user import HttpUser
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, clean_env, until

LIMIT = 50.0  # seconds for one command


@dataclass
class Newcomer:
    """``place`` is the copy; the other two are addresses."""

    place: Path
    service: str
    sandbox: str

    @property
    def env(self) -> dict[str, str]:
        return clean_env({
            "ELICIT_URL": self.service, "FILES_URL": f"{self.sandbox}/acme/api/files", "PYTHONPATH": str(self.place),
        })  # fmt: skip

    def run(self, *command: str, visit_as: str = "alice", visit: Callable[[str], object] | None = None) -> str:
        """Runs ``command``, and gives what it printed. The link that it prints is opened by ``visit``, or else in a
        browser as that person, who allows it.
        """
        process = subprocess.Popen(command, cwd=self.place, env=self.env, stdout=subprocess.PIPE, text=True)
        guard = threading.Timer(LIMIT, process.kill)
        guard.start()
        printed = []
        try:
            for line in process.stdout or ():
                printed.append(line)
                link = re.search(rf"{self.service}/c/el_[\w-]+", line)
                if link and visit:
                    visit(link.group())
                elif link:
                    with closing(HttpUser()) as user:
                        user.connect(link.group(), visit_as)
            assert process.wait(20) == 0, "".join(printed)
        finally:
            guard.cancel()
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        return "".join(printed)


def copy_project(place: Path) -> None:
    """What git tracks or would, without the tests."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.split("\n"):
        if name and not name.startswith("tests/") and (PROJECT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes((PROJECT / name).read_bytes())


@contextmanager
def newcomer_in(place: Path) -> Iterator[Newcomer]:
    copy_project(place)
    port, sandbox_port = free_port(), free_port()
    command = [sys.executable, "-m", "sandbox.run", "--port", str(port), "--sandbox-port", str(sandbox_port)]
    process = Process(command, place / "run.log", cwd=place, env={"PYTHONPATH": str(place)})
    process.start()
    try:
        log = place / "run.log"
        until(lambda: "Ctrl-C stops both" in log.read_text() or not process.alive, "make run is up", timeout=150)
        assert process.alive, log.read_text()
        yield Newcomer(place, f"http://127.0.0.1:{port}", f"http://127.0.0.1:{sandbox_port}")
    finally:
        process.stop()
