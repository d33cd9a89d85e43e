"""The first two examples, as a newcomer runs them, in front of a service that follows a script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk.fake import COMPLETED, ELICITATION, FakeService, Reply
from tests.support.machine import within
from tests.support.process import PROJECT

pytestmark = pytest.mark.slow

QUICKSTART = [sys.executable, str(PROJECT / "examples/quickstart.py")]
PLAIN_HTTP = ["sh", str(PROJECT / "examples/plain_http.sh")]
TOKEN = {"access_token": "at-1", "token_type": "Bearer", "expires_at": None, "scopes": ["files.read"]}
FILES = {"files": [{"name": "Cat.jpg", "size": 911204}]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where `make run` left the demo agent's key."""
    (tmp_path / "var").mkdir()
    (tmp_path / "var/demo.key").write_text("key-of-the-demo\n")
    return tmp_path


def run(command: list[str], place: Path, service: FakeService) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ELICIT_")}
    environment = kept | {"ELICIT_URL": service.url, "FILES_URL": f"{service.url}/files", "PYTHONPATH": str(PROJECT)}
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=within(60), check=False
    )


def command_for(example: list[str], service: FakeService) -> list[str]:
    return [*example, "--files-url", f"{service.url}/files"] if example is QUICKSTART else example


@pytest.mark.parametrize("example", [QUICKSTART, PLAIN_HTTP], ids=["quickstart.py", "plain_http.sh"])
def test_it_prints_the_link_waits_and_lists_the_files(example: list[str], place: Path, service: FakeService) -> None:
    service.on("POST", "/v1/elicitations", Reply(ELICITATION, 201))
    service.on("GET", "/v1/elicitations/el_1", Reply(ELICITATION | {"status": "started", "seq": 2}), Reply(COMPLETED))
    service.on("POST", "/v1/connections/cn_1/token", Reply(TOKEN))
    service.on("GET", "/files", Reply(FILES))

    ran = run(command_for(example, service), place, service)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == ELICITATION["url"]
    assert "Cat.jpg" in ran.stdout
    create, first, second, token, files = service.asked
    assert create.headers["authorization"] == "Bearer key-of-the-demo"
    assert create.headers["idempotency-key"]
    assert create.headers["content-type"] == "application/json"
    assert create.body["subject"] == {"iss": "http://127.0.0.1:8001", "sub": "alice"}
    assert (first.query["after_seq"], second.query["after_seq"]) == ("1", "2")
    assert token.path == "/v1/connections/cn_1/token"
    assert files.headers["authorization"] == "Bearer at-1"


@pytest.mark.parametrize("example", [QUICKSTART, PLAIN_HTTP], ids=["quickstart.py", "plain_http.sh"])
def test_a_decline_is_said_in_plain_words(example: list[str], place: Path, service: FakeService) -> None:
    service.on("POST", "/v1/elicitations", Reply(ELICITATION | {"status": "declined"}, 200))
    example_for = [*example, "--user", "https://idp.example", "u-1"]
    ran = run(example_for, place, service)
    assert ran.returncode == 1
    assert "No files: the question was declined." in ran.stdout + ran.stderr
    assert service.asked[0].body["subject"] == {"iss": "https://idp.example", "sub": "u-1"}
