"""Processes that the tests start: each in a group of its own, its output in a file, its end guaranteed.

A Python program of the project is forked from one process of the run that has the libraries loaded (fork_server.py).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tests.support import guardian, machine
from tests.support.forking import Fork, ForkServer
from tests.support.machine import within

PROJECT = Path(__file__).resolve().parent.parent.parent
RUN_LIMIT = 300.0  # seconds
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
T = TypeVar("T")
RUN_NAME = "TEST_RUN_FOLDER"
_guardian: subprocess.Popen[str] | None = None
_forking: subprocess.Popen[bytes] | None = None

LEADS = RUN_NAME not in os.environ  # others of the run have it from the process that leads
if LEADS:
    # All temporary files of the run lie in it, so that nothing is left of a process that was killed.
    os.environ[RUN_NAME] = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="elicit-run-", dir=machine.memory_folder())
    tempfile.tempdir = None  # so that the next temporary file follows TMPDIR
    Path(os.environ[RUN_NAME]).chmod(0o755)  # PostgreSQL runs as somebody else
    atexit.register(shutil.rmtree, os.environ[RUN_NAME], ignore_errors=True)
RUN = Path(os.environ[RUN_NAME])  # what the workers of a run share


def clean_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment that holds nothing of whoever started the tests but where programs are found."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "TZ": "UTC", "PYTHONUNBUFFERED": "1", **(extra or {})}


def identity(user: str | None) -> dict[str, Any]:
    """What subprocess needs to run a program as ``user``; nothing for None."""
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}


def until(ready: Callable[[], T], what: str, *, timeout: float = 30.0, every: float = 0.02) -> T:
    """Asks again and again until the answer is true; TimeoutError that says ``what`` after ``timeout`` seconds.

    They are seconds of a machine that has nothing else to do.
    """
    began, limit = time.monotonic(), 0.0
    while True:
        answer = ready()
        if answer:
            return answer
        limit = max(limit, within(timeout))
        if time.monotonic() - began > limit:
            raise TimeoutError(f"{what}: not within {time.monotonic() - began:.1f} s")
        time.sleep(every)


def guard(pid: int | None = None) -> None:
    """Has the guardian end ``pid`` when this process is gone and, of the process that leads, remove the run's files."""
    global _guardian
    if _guardian is None:
        command = [sys.executable, guardian.__file__, *([str(RUN)] if LEADS else [])]
        _guardian = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
    assert _guardian.stdin is not None
    if pid is not None:
        _guardian.stdin.write(f"{pid} {guardian.started_at(pid)}\n")
        _guardian.stdin.flush()


def dismiss_guardian() -> None:
    """Ends the fork server and the guardian and, with them, whatever was not ended before."""
    global _forking, _guardian
    if _forking is not None:
        _forking.communicate()  # the end of its input
        _forking = None
    if _guardian is not None:
        _guardian.communicate()
        _guardian = None


def fork_server() -> ForkServer:
    """The one of the run, which the process that leads starts and ends."""
    global _forking
    path = RUN / "forks"
    if _forking is None and LEADS:
        guard()  # it may be the only process that this one starts
        command = [sys.executable, "-u", "-m", "tests.support.fork_server", str(path)]
        _forking = subprocess.Popen(
            command, stdin=subprocess.PIPE, cwd=PROJECT, env=clean_env(), start_new_session=True
        )
        # When its input ends, by this or by this process's death, it ends what lives as long as the run, and itself.
        atexit.register(dismiss_guardian)
    return ForkServer(path)


def forkable(command: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a Python program of the tests, on their libraries, needs nothing that Python does as it starts."""
    ours = command[0] == sys.executable and len(command) > 1 and (command[1] == "-m" or command[1].endswith(".py"))
    return ours and env.get("PYTHONPATH", str(PROJECT)) == str(PROJECT)


def run(
    command: Sequence[str], env: Mapping[str, str], server: ForkServer, cwd: Path = PROJECT
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` with its output captured, forked from ``server``."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
        fork = server.fork(command[1:], env, cwd, output.fileno(), error.fileno())
        guard(fork.pid)
        assert fork.stdin is not None
        fork.stdin.close()
        status = fork.wait(RUN_LIMIT)
        said = []
        for file in (output, error):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    return subprocess.CompletedProcess(list(command), status, *said)


class Process:
    """One program that can be started, stopped, killed, paused and started again.

    ``log`` receives standard output and error of every start, one after the other. ``user`` is the account to run
    as, for programs that refuse to be root. ``forked_from`` says which server it is a fork of, for its environment.
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
        forked_from: Callable[[Mapping[str, str]], ForkServer] | None = None,
    ) -> None:
        self.command = list(command)
        self.log = log
        self.env = clean_env(env)
        self.cwd = cwd
        self.user = user
        self.stop_with = stop_with
        self.forked_from = forked_from
        self._child: subprocess.Popen[bytes] | Fork | None = None
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
        self._wait(15.0)  # one that ended by itself leaves its pipe
        self._before = len(self.output())
        with self.log.open("ab") as log:
            # Standard input is a pipe of ours: a child may take its end as the sign to leave.
            if self.forked_from or forkable(self.command, self.env):
                server = self.forked_from(self.env) if self.forked_from else fork_server()
                self._child = server.fork(self.command[1:], self.env, self.cwd, log.fileno(), log.fileno())
            else:
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
        guard(self._child.pid)

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
        status = self._child.wait()
        if self._child.stdin:
            self._child.stdin.close()
        return status

    def _ended(self) -> bool:
        if isinstance(self._child, Fork):
            return self._child.ended()
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def output(self) -> str:
        """Everything it has printed; a device keeps nothing."""
        if self.log.is_char_device():
            return ""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def printed(self) -> str:
        """What it has printed since it was last started."""
        return self.output()[self._before :]

    def wait_for_output(self, pattern: str, *, timeout: float = 30.0) -> re.Match[str]:
        """Waits until what it has printed since it was last started matches; fails at once when it has ended."""
        what = f"{self.command[0]} prints {pattern!r}"
        found = self.wait_until(lambda: re.search(pattern, self.printed()), what, timeout)
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


class ForkServers:
    """Fork servers that run until the end, each with what a key stands for loaded; their logs are in ``home``."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._running: dict[Hashable, tuple[Process, ForkServer]] = {}

    def one(self, key: Hashable, python: str, *loads: str, env: Mapping[str, str] | None = None) -> ForkServer:
        if key not in self._running:
            path = self._home / f"forks-{len(self._running)}"
            command = [python, "-m", "tests.support.fork_server", str(path), *loads]
            process = Process(command, path.with_suffix(".log"), env=env)
            process.start()
            self._running[key] = process, ForkServer(path)
        return self._running[key][1]

    def close(self) -> None:
        for process, _ in self._running.values():
            process.kill9()


class Elsewhere(ForkServers):
    """Those of other Pythons, each with modules of its own."""

    def __call__(self, python: str, *modules: str) -> ForkServer:
        return self.one(python, python, *modules)


class Loaded(ForkServers):
    """Those that have the service, one for each environment."""

    def __call__(self, env: Mapping[str, str]) -> ForkServer:
        return self.one(frozenset(env.items()), sys.executable, "--service", env=env)
