"""A program started for whoever talks with it: its input, output, environment, folder and end are its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import on_stdio
from tests.support.process import PROJECT, fork_server, until

PROGRAM = """
import os, sys
print(os.getcwd(), sorted(os.environ), os.getpid(), flush=True)
print("told", sys.stdin.readline(), end="", flush=True)
if not sys.stdin.readline():
    sys.exit(7)
"""


@pytest.fixture
def started(tmp_path: Path) -> subprocess.Popen[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, *on_stdio.arguments(fork_server(), [str(tmp_path / "program.py")])]
    env = {"PYTHONPATH": str(PROJECT), "GIVEN": "1"}
    return subprocess.Popen(
        command, cwd=tmp_path, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def test_it_has_what_it_was_given_and_its_status_is_passed_on(started: subprocess.Popen[str], tmp_path: Path) -> None:
    with started:
        folder, names = started.stdout.readline().rsplit(" ", 1)[0].split(" ", 1)
        assert folder == str(tmp_path)
        assert set(names.strip("[]").replace("'", "").split(", ")) - {"LC_CTYPE"} == {"GIVEN", "PYTHONPATH"}
        started.stdin.write("hello\n")
        assert started.stdout.readline() == "told hello\n"
        started.stdin.close()
        assert started.stdout.read() == "", "nobody else holds its output open"
    assert started.returncode == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_it(started: subprocess.Popen[str], number: signal.Signals) -> None:
    with started:
        pid = int(started.stdout.readline().rsplit(" ", 1)[1])
        assert pid != started.pid
        started.send_signal(number)
        until(lambda: not Path(f"/proc/{pid}").exists(), "the program has ended")
    assert started.returncode != 0


def test_who_loses_its_starter_sees_the_end_of_its_input(started: subprocess.Popen[str]) -> None:
    pid = int(started.stdout.readline().rsplit(" ", 1)[1])
    started.kill()
    with started:
        started.stdin.close()
        until(lambda: b"Z" in Path(f"/proc/{pid}/stat").read_bytes(), "the program has ended")
