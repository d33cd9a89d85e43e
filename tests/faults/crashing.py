"""A sweep: a process of a box is killed at one system call after another, and each time comes back by itself."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.faults.supervisor import STARTED, WORKER
from tests.support.box import Box, answers_ready
from tests.support.process import until
from tests.support.strace import Trace, alive, crash_at, watching


@dataclass(frozen=True)
class Point:
    """The ``nth`` time that one thread makes this system call."""

    call: str
    nth: int


class Crashing:
    """``box`` with its web process under a supervisor. ``kills`` counts the points that were really hit."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.process = box.processes["web"]
        self.process.command = [sys.executable, "-m", "tests.faults.supervisor", str(box.ports[0])]
        self.kills = 0

    @property
    def pid(self) -> int:
        """The web process that runs now."""
        return int(re.findall(rf"{STARTED} (\d+)", self.process.output())[-1])

    @property
    def speech(self) -> tuple[str, ...]:
        """The calls that reach the database, be it a file or a server, and those that carry answers (uvloop's)."""
        server = self.box.database_url.startswith("postgres")
        return ("sendto", "recvfrom", "write") if server else ("pwrite64", "fdatasync", "write")

    def points(
        self, acts: Iterable[Callable[[], object]], calls: Iterable[str], most: int, *, anew: bool = False
    ) -> list[Point]:
        """Up to ``most`` points of each of ``calls``, spread over what each of ``acts`` makes the service do, both ends
        in. With several, what a timer or a log added to one of them does not count. ``anew``: each is done by a new
        process, which opens its connections, as each process of the sweep does.
        """
        traces = []
        for act in acts:
            if anew:
                self.renew()
            with watching(self.pid, ",".join(calls)) as trace:
                act()
            traces.append(trace)
        reached = {call: min(_busiest(trace, call) for trace in traces) for call in calls}
        return [Point(call, nth) for call in calls for nth in _spread(reached[call], most)]

    def renew(self) -> None:
        """Kills the process while nothing is asked of it: what it remembered is gone."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        self.back(pid)

    @contextmanager
    def at(self, point: Point) -> Iterator[None]:
        """Within the block the process is killed at ``point``; behind it, it is back and ready."""
        pid = self.pid
        with crash_at(pid, point.nth, point.call):
            yield
        if alive(pid):
            return
        self.kills += 1
        self.back(pid)

    def met(self, points: list[Point]) -> bool:
        """Whether most were really hit, SQLite's writes left aside: their number differs with the state of its log."""
        return self.kills >= len([point for point in points if point.call != "pwrite64"]) * 2 // 3

    def back(self, former: int) -> None:
        try:
            until(lambda: self.pid != former and answers_ready(self.box.url), "the web process is back", every=0.01)
        except TimeoutError as error:
            state = Path(f"/proc/{self.pid}/status").read_text().split("\n", 3)[2]
            said = cut(lambda: httpx2.get(f"{self.box.url}/readyz", trust_env=False, timeout=5))
            raise TimeoutError(f"{error}; {former} is now {self.pid}, {state}: {said and said.text}") from error


class CrashingWorker(Crashing):
    """The same with the worker of a box of several processes: the web process lives."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.process = box.processes["worker"]
        self.process.command = [sys.executable, "-m", "tests.faults.supervisor", WORKER]
        self.kills = 0

    def back(self, former: int) -> None:
        def ready() -> bool:
            return self.pid != former and "ready." in self.process.output().rpartition(f"{STARTED} {self.pid}")[2]

        until(ready, "the worker is back", every=0.01)


def cut(call: Callable[[], httpx2.Response]) -> httpx2.Response | None:
    """The answer, or None where the process died before it gave one."""
    try:
        return call()
    except httpx2.TransportError:
        return None


def _busiest(trace: Trace, call: str) -> int:
    return max(Counter(thread for thread, name in trace.calls if name == call).values(), default=0)


def _spread(count: int, most: int) -> list[int]:
    """Up to ``most`` of 1 … ``count``, evenly, both ends in."""
    if count <= most or most < 2:
        return list(range(1, min(count, most) + 1))
    return sorted({1 + round(step * (count - 1) / (most - 1)) for step in range(most)})
