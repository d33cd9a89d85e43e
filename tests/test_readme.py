"""What the README tells a newcomer to do, done in a copy of the project: it runs, and the examples work as printed."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support.http_user import HttpUser
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, clean_env, until


@dataclass
class Newcomer:
    """A copy of the project in which the service and the sandbox run."""

    place: Path
    service: str
    sandbox: str

    def run(self, *command: str, visit_as: str = "alice") -> str:
        """Runs ``command``, opens the link it prints in a browser as that person, and gives what it printed."""
        env = clean_env({
            "ELICIT_URL": self.service, "FILES_URL": f"{self.sandbox}/acme/api/files", "PYTHONPATH": str(self.place),
        })  # fmt: skip
        process = subprocess.Popen(command, cwd=self.place, env=env, stdout=subprocess.PIPE, text=True)
        guard = threading.Timer(50, process.kill)
        guard.start()
        printed = []
        try:
            for line in process.stdout or ():
                printed.append(line)
                link = re.search(rf"{self.service}/c/el_[\w-]+", line)
                if link:
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


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    place = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.split("\n"):
        if name and not name.startswith("tests/") and (PROJECT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes((PROJECT / name).read_bytes())
    port, sandbox_port = free_port(), free_port()
    command = [sys.executable, "-m", "sandbox.run", "--port", str(port), "--sandbox-port", str(sandbox_port)]
    process = Process(command, place / "run.log", cwd=place, env={"PYTHONPATH": str(place)})
    process.start()
    try:
        until(lambda: "Ctrl-C stops both" in (place / "run.log").read_text(), "make run is up", timeout=50)
        yield Newcomer(place, f"http://127.0.0.1:{port}", f"http://127.0.0.1:{sandbox_port}")
    finally:
        process.stop()


def test_the_readmes_python_asks_waits_and_gets_a_token(newcomer: Newcomer) -> None:
    readme = (newcomer.place / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert found
    assert len([line for line in found.group(1).splitlines() if line.strip()]) <= 12
    code = found.group(1).replace("http://127.0.0.1:8001", newcomer.sandbox)
    assert "Token(token_type='Bearer'" in newcomer.run(sys.executable, "-c", code)


def test_the_quickstart_lists_the_files(newcomer: Newcomer) -> None:
    files = f"{newcomer.sandbox}/acme/api/files"
    printed = newcomer.run(
        sys.executable, "examples/quickstart.py", "--user", newcomer.sandbox, "alice", "--files-url", files
    )
    assert "Travel plan.pdf" in printed


def test_curl_does_the_same(newcomer: Newcomer) -> None:
    printed = newcomer.run("bash", "examples/plain_http.sh", "--user", newcomer.sandbox, "bob", visit_as="bob")
    assert '"name"' in printed


def test_the_front_page_of_the_sandbox_plays_the_agent(newcomer: Newcomer) -> None:
    assert 'data-action="ask"' in httpx2.get(newcomer.sandbox, trust_env=False).text


def test_the_links_of_the_readme_lead_somewhere(newcomer: Newcomer) -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)", readme) if "://" not in target]
    assert targets
    assert [target for target in targets if not (PROJECT / target).exists()] == []
