from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.sandbox.browser import Browser
from tests.sdk.fake import FakeService
from tests.support.process import Process, until

SERVICE = "http://127.0.0.1:9"  # nobody is there: these tests read the redirects and do not follow them
KEY = "key-of-the-demo-agent-of-the-tests"
Start = Callable[..., str]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start a sandbox with these arguments and say where it is."""
    running: list[Process] = []

    def start(*arguments: str, environment: Mapping[str, str] = MappingProxyType({"ELICIT_API_KEY": KEY})) -> str:
        log = tmp_path_factory.mktemp("sandbox") / "log"
        command = [sys.executable, "-m", "sandbox", "--port", "0", *arguments]
        process = Process(command, log, env=environment)
        running.append(process)
        process.start()
        return until(lambda: address(process, log), "the sandbox says where it is") or ""

    yield start
    for process in running:
        process.stop()


def address(process: Process, log: Path) -> str | None:
    assert process.alive, log.read_text()
    said = re.search(r"^Sandbox at (\S+)$", log.read_text(), re.MULTILINE)
    return said[1] if said else None


@pytest.fixture(scope="module")
def sandbox(start: Start) -> str:
    return start("--service-url", SERVICE)


@pytest.fixture
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService()
    yield fake
    fake.close()
