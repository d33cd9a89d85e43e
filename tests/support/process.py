"""Processes that the tests start: each in a group of its own, its output in a file, its end guaranteed."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tests.support import guardian

PROJECT = Path(__file__).resolve().parent.parent.parent
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
T = TypeVar("T")
_guardian: subprocess.Popen[str] | None = None


def clean_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment that holds nothing of whoever started the tests but where programs are found."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "TZ": "UTC", "PYTHONUNBUFFERED": "1", **(extra or {})}


def identity(user: str | None) -> dict[str, Any]:
    """What subprocess needs to run a program as ``user``; nothing for None."""
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}


def until(ready: Callable[[], T], what: str, *, timeout: float = 30.0, every: float = 0.02) -> T:
    """Asks again and again until the answer is true; TimeoutError that says ``what`` after ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        answer = ready()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout:g} s")
        time.sleep(every)


def _guard(pid: int) -> None:
    global _guardian
    if _guardian is None:
        _guardian = subprocess.Popen(
            [sys.executable, guardian.__file__], stdin=subprocess.PIPE, text=True, start_new_session=True
        )
    assert _guardian.stdin is not None
    _guardian.stdin.write(f"{pid} {guardian.started_at(pid)}\n")
    _guardian.stdin.flush()


def dismiss_guardian() -> None:
    """Ends the guardian and, with it, whatever was not ended before."""
    global _guardian
    if _guardian is not None:
        _guardian.communicate()
        _guardian = None


class Process:
    """One program that can be started, stopped, killed, paused and started again.

    ``log`` receives standard output and error of every start, one after the other. ``user`` is the account to run
    as, for programs that refuse to be root.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path = PROJECT,
        user: str | None = None,
        stop_with: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.command = list(command)
        self.log = log
        self.env = clean_env(env)
        self.cwd = cwd
        self.user = user
        self.stop_with = stop_with
        self._child: subprocess.Popen[bytes] | None = None
        self._before = 0

    @property
    def pid(self) -> int:
        assert self._child is not None, f"{self.command[0]} was never started"
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        assert not self.alive, f"{self.command[0]} is running already"
        self._before = len(self.output())
        with self.log.open("ab") as log:
            # Standard input is a pipe of ours: a child may take its end as the sign to leave.
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.env,
                cwd=self.cwd,
                start_new_session=True,
                **identity(self.user),
            )
        _guard(self._child.pid)

    def signal(self, number: signal.Signals) -> None:
        """Sends ``number`` to the whole group."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def stop(self, timeout: float = 15.0) -> int:
        """Asks it to end, kills it after ``timeout`` seconds; the exit status (negative: the signal).

        As a supervisor does, only the process itself is asked: a Celery worker lets its children finish their tasks.
        """
        self.signal(signal.SIGCONT)
        if self.alive:
            os.kill(self.pid, self.stop_with)
        return self._wait(timeout)

    def kill9(self) -> int:
        self.signal(signal.SIGKILL)
        return self._wait(15.0)

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def _wait(self, timeout: float) -> int:
        """Reaps it, and kills what is left of its group while its number cannot yet be anybody else's."""
        if self._child is None:
            return 0
        if self._child.returncode is None:
            with contextlib.suppress(TimeoutError):
                until(self._ended, f"{self.command[0]} ends", timeout=timeout)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._child.wait()
        if self._child.stdin:
            self._child.stdin.close()
        return self._child.returncode

    def _ended(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait_for_output(self, pattern: str, *, timeout: float = 30.0) -> re.Match[str]:
        """Waits until what it has printed since it was last started matches; fails at once when it has ended."""
        what = f"{self.command[0]} prints {pattern!r}"
        found = self.wait_until(lambda: re.search(pattern, self.output()[self._before :]), what, timeout)
        assert found is not None
        return found

    def wait_until(self, ready: Callable[[], T], what: str, timeout: float = 30.0) -> T:
        """As ``until``, but fails at once, with the output, when the process ends meanwhile."""

        def ready_or_dead() -> T:
            answer = ready()
            if not answer and not self.alive:
                raise RuntimeError(f"{what}: the process ended\n{self.output()[-4000:]}")
            return answer

        try:
            return until(ready_or_dead, what, timeout=timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.output()[-4000:]}") from None
