"""Whether a process that is being killed still counts as alive, and whether strace sees every thread."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.strace import alive, crash_at, untraced, watching

HOLDS_A_LOT = "held = b'x' * 400_000_000; print('ready', flush=True); input()"  # so much takes its time to be let go

BEGINS_THREADS = """
import threading, time
end = time.monotonic() + 1.2
def one():
    time.sleep(0.002)
    if time.monotonic() < end:
        threading.Thread(target=one, daemon=True).start()
    time.sleep(0.2)
for _ in range(4):
    threading.Thread(target=one, daemon=True).start()
print("ready", flush=True)
input()
"""

WRITES_ALL_THE_TIME = """
import os, threading
def write():
    out = os.open(os.devnull, os.O_WRONLY)
    while True:
        os.write(out, b"x")
for _ in range(3):
    threading.Thread(target=write, daemon=True).start()
print("ready", flush=True)
input()
"""


@contextmanager
def running(code: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process


def test_a_process_may_be_killed_while_strace_still_attaches() -> None:
    for _ in range(3):
        with running(WRITES_ALL_THE_TIME) as process, crash_at(process.pid, 1, "write"):
            assert process.wait(20) == -signal.SIGKILL


def test_a_process_that_was_killed_is_dead_though_it_takes_its_time_to_go() -> None:
    with running(HOLDS_A_LOT) as process:
        assert alive(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        assert not alive(process.pid)
    assert not alive(process.pid)


def test_threads_that_begin_while_strace_attaches_are_traced_too() -> None:
    for _ in range(3):
        with running(BEGINS_THREADS) as process:
            time.sleep(0.5)
            with watching(process.pid, "fsync"):
                [tracer] = re.findall(r"TracerPid:\t(\d+)", Path(f"/proc/{process.pid}/status").read_text())
                assert untraced(process.pid, int(tracer)) == 0
            process.kill()
