"""Crash points without a hook in the product: strace kills a process at its n-th system call of a kind."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.left_out import left_out
from tests.support.machine import within
from tests.support.process import clean_env

# What touches the outside: the network, the disk.
OUTSIDE = "sendto,sendmsg,recvfrom,recvmsg,write,writev,pwrite64,fsync,fdatasync"

_EXITING = 0x4  # PF_EXITING of Linux's include/linux/sched.h, among the flags of proc_pid_stat(5)
_KILL = 1 << (signal.SIGKILL - 1)  # in the masks of proc_pid_status(5)


def strace_program() -> str:
    """Where strace is, if it may trace here; leaves the test out otherwise."""
    found = shutil.which("strace")
    if not found:
        left_out("crash points: strace is missing (Debian: apt-get install strace)")
    tried = subprocess.run([found, "-qq", "-e", "trace=none", "true"], capture_output=True, check=False)
    if tried.returncode:
        left_out("crash points: strace may not trace here (the container lacks SYS_PTRACE)")
    return found


@dataclass
class Trace:
    """What strace saw; complete when the block has ended. One pair for each call: thread id and name."""

    calls: list[tuple[int, str]] = field(default_factory=list)

    def read(self, log: Path) -> None:
        lines = re.findall(r"^(\d+) +(\w+)\(", log.read_text(errors="replace"), re.MULTILINE)
        self.calls = [(int(thread), name) for thread, name in lines]

    def busiest(self) -> int:
        """How often a thread made the call that it made most: how far ``crash_at`` has to count."""
        return max(Counter(self.calls).values(), default=0)


@contextmanager
def _attached(pid: int, *options: str, kills: bool = False) -> Iterator[Trace]:
    folder = Path(tempfile.mkdtemp(prefix="elicit-strace-"))
    log, said = folder / "calls", folder / "said"
    command = [strace_program(), "-f", "-p", str(pid), "-o", str(log), *options]
    trace, tracer = Trace(), _attach(command, pid, said, kills=kills)
    try:
        yield trace
    finally:
        _let_go(tracer, pid)
        trace.read(log)
        shutil.rmtree(folder, ignore_errors=True)


def _let_go(tracer: subprocess.Popen[bytes], pid: int) -> None:
    """Ends strace: SIGINT makes it leave the process, and it ends by itself with a process that was killed.

    Interrupted while the process dies it can wait for ever on the first thread, which ends only when strace has taken
    note of the others; killed, it lets go as well.
    """
    if alive(pid):
        tracer.send_signal(signal.SIGINT)
    try:
        tracer.wait(within(2))
    except subprocess.TimeoutExpired:
        tracer.kill()
        tracer.wait(10)


def alive(pid: int) -> bool:
    """Whether there is such a process that has not been killed: one that was takes its time to go."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    state, flags = (stat.rpartition(")")[2].split()[at] for at in (0, 6))
    pending = any(int(bits, 16) & _KILL for bits in re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", status, re.MULTILINE))
    return state not in {"Z", "X"} and not int(flags) & _EXITING and not pending


def _attach(command: list[str], pid: int, said: Path, *, kills: bool) -> subprocess.Popen[bytes]:
    """Starts strace, and again if it has missed a thread: the list that it reads is not whole while others end.

    ``kills``: strace may have killed the process meanwhile, at a call of another thread.
    """
    deadline = time.monotonic() + within(10)
    while time.monotonic() < deadline:
        with said.open("w") as output:
            tracer = subprocess.Popen(command, stderr=output, env=clean_env())
        while "attached" not in said.read_text() and tracer.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if tracer.poll() is None and untraced(pid, tracer.pid) == 0:
            return tracer
        _let_go(tracer, pid)
        if kills and not alive(pid):
            return tracer
    raise RuntimeError(f"strace did not attach: {said.read_text()}")


def untraced(pid: int, tracer: int) -> int:
    """How many threads of the process are not traced."""
    found = 0
    for one in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            found += f"TracerPid:\t{tracer}\n" not in (one / "status").read_text()
    return found


@contextmanager
def watching(pid: int, calls: str = OUTSIDE) -> Iterator[Trace]:
    """Counts the system calls of the process and its threads while the block runs."""
    with _attached(pid, "-e", f"trace={calls}") as trace:
        yield trace


@contextmanager
def crash_at(pid: int, nth: int, calls: str = OUTSIDE) -> Iterator[Trace]:
    """Kills the process (SIGKILL) as it enters its ``nth`` of one of ``calls``, counted from here.

    strace counts for each thread and each name by itself: the first that gets there takes the process with it.
    """
    with _attached(pid, "-e", f"trace={calls}", "-e", f"inject={calls}:signal=KILL:when={nth}", kills=True) as trace:
        yield trace


@contextmanager
def failing(pid: int, error: str, calls: str, when: str = "1+") -> Iterator[Trace]:
    """Lets ``calls`` fail with ``error`` (ENOSPC, EIO, …); ``when`` as strace's inject takes it."""
    with _attached(pid, "-e", f"trace={calls}", "-e", f"inject={calls}:error={error}:when={when}") as trace:
        yield trace
