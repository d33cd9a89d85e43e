"""``python -m sandbox.run``, with a manage.py of the tests' own and the real sandbox."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from sandbox.configure import configuration
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, until


@pytest.fixture
def place(tmp_path: Path) -> Path:
    shutil.copy(Path(__file__).parent / "manage_double.py", tmp_path / "manage.py")
    return tmp_path


@pytest.fixture
def make_run(place: Path) -> Iterator[Callable[..., Process]]:
    running: list[Process] = []

    def make_run(port: int, sandbox_port: int, **environment: str) -> Process:
        command = [sys.executable, "-m", "sandbox.run", "--port", str(port), "--sandbox-port", str(sandbox_port)]
        process = Process(command, place / "log", cwd=place, env={"PYTHONPATH": str(PROJECT), **environment})
        running.append(process)
        process.start()
        return process

    yield make_run
    for process in running:
        process.stop()


def said(place: Path) -> str:
    return (place / "log").read_text()


def ended(process: Process) -> int:
    until(lambda: not process.alive, "it ends")
    return process.stop()


def nobody_at(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.slow
def test_it_prepares_starts_both_and_ends_both(place: Path, make_run: Callable[..., Process]) -> None:
    port, sandbox_port = free_port(), free_port()
    process = make_run(port, sandbox_port, ELICIT_API_KEY="somebody-elses-live-key")
    until(lambda: "Ctrl-C stops both." in said(place), "it says what to do next")
    service, sandbox = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{sandbox_port}"
    assert f"ELICIT_URL={service} .venv/bin/python examples/quickstart.py --user {sandbox} alice" in said(place)
    assert httpx2.get(f"{sandbox}/.well-known/openid-configuration").json()["issuer"] == sandbox

    asked = [line.split(" ", 1)[1] for line in (place / "asked").read_text().splitlines()]
    assert [line.split()[0] for line in asked] == ["migrate", "apply", "serve"]
    assert all(f"ELICIT_PUBLIC_URL={service} ELICIT_ALLOW_LOOPBACK=1" in line for line in asked)
    assert (place / "var/demo.toml").read_text() == configuration(service, sandbox)
    assert stat.S_IMODE((place / "var").stat().st_mode) == 0o700
    key = place / "var/demo.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_text().strip()) >= 32
    assert key.read_text().strip() not in said(place)

    os.kill(process.pid, signal.SIGTERM)
    assert ended(process) == 0
    assert nobody_at(port)
    assert nobody_at(sandbox_port)


@pytest.mark.slow
def test_a_second_run_keeps_the_key(place: Path, make_run: Callable[..., Process]) -> None:
    (place / "var").mkdir()
    (place / "var/demo.key").write_text("k" * 32)
    process = make_run(free_port(), free_port())
    until(lambda: "Ctrl-C" in said(place), "it is up")
    os.kill(process.pid, signal.SIGINT)
    assert ended(process) == 0
    assert said(place).endswith("Stopped.\n")
    assert (place / "var/demo.key").read_text() == "k" * 32


@pytest.mark.slow
def test_when_one_dies_the_other_is_ended_and_the_dead_one_named(place: Path, make_run: Callable[..., Process]) -> None:
    port, sandbox_port = free_port(), free_port()
    process = make_run(port, sandbox_port, FAKE="dies")
    assert ended(process) == 1
    assert "The service ended by itself with exit code 7; the rest was stopped." in said(place)
    assert nobody_at(sandbox_port)


@pytest.mark.parametrize("taken", ["PORT", "SANDBOX_PORT"])
def test_a_taken_port_is_named_before_anything_is_done(
    place: Path, make_run: Callable[..., Process], taken: str
) -> None:
    ports = {"PORT": free_port(), "SANDBOX_PORT": free_port()}
    with socket.create_server(("127.0.0.1", ports[taken])):
        process = make_run(*ports.values())
        assert ended(process) == 1
    assert f"Port {ports[taken]} cannot be had" in said(place)
    assert f"make run {taken}=" in said(place)
    assert not (place / "asked").exists()


@pytest.mark.slow
def test_a_configuration_that_does_not_apply_starts_nothing(place: Path, make_run: Callable[..., Process]) -> None:
    process = make_run(free_port(), free_port(), FAKE="refuses")
    assert ended(process) == 1
    assert "agent: name is missing" in said(place)
    assert "Configuring the demo did not work" in said(place)
    assert " serve " not in (place / "asked").read_text()


def test_other_addresses_replace_the_usual_two_even_where_they_cross() -> None:
    usual = configuration("http://127.0.0.1:8000", "http://127.0.0.1:8001")
    crossed = configuration("http://127.0.0.1:8001", "http://127.0.0.1:8000")
    assert 'issuer = "http://127.0.0.1:8001"' in usual
    assert 'issuer = "http://127.0.0.1:8000"' in crossed
    assert "8001" not in crossed
