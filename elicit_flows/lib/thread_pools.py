"""Thread pools that are shared fairly, and a rule about which threads may wait for outside servers.

A view that may call an outside server declares that with ``asks_outside``. Such views have their own threads, so that a
server that hangs delays nothing else. In other pool threads, the HTTP client refuses to connect (``check``).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")
V = TypeVar("V")

# True in tests: an outside call in a quick thread is an error. In production it is logged, and the call is made.
strict = False
_local = threading.local()


class WrongThread(Exception):
    """A thread for quick requests was about to call an outside server."""


def asks_outside(view: V) -> V:
    """Declare that this view, or this class of admin pages, may call an outside server.

    Its position among a view's decorators does not matter if they use ``functools.wraps``.
    """
    view.asks_outside = True  # type: ignore[attr-defined]
    return view


def asks_outside_for_some(view: V) -> V:
    """Declare that this view may call an outside server for agents with managed access, and for no others."""
    view.asks_outside = view.for_some_agents = True  # type: ignore[attr-defined]
    return view


def mark(outside: bool) -> None:
    """Set what this thread may do: the ``initializer`` of an executor."""
    _local.outside = outside


def check(host: str) -> None:
    """Called before a connection to ``host``. Threads outside of the pools, such as the worker's, may connect
    anywhere.
    """
    if getattr(_local, "outside", True):
        return
    if strict:
        raise WrongThread(f"A quick thread asks {host}: the view must be declared with @asks_outside.")
    log.error("a thread for quick requests asks an outside server; the view lacks @asks_outside")


class RetryingThreads(ThreadPoolExecutor):
    """If no thread can be started for lack of memory, the call stays in the queue, and ``nudge`` tries again."""

    short = False

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except (RuntimeError, MemoryError):
            self.short = True
            log.warning("no thread could be started; the call waits in the queue")

    def nudge(self) -> None:
        if self.short:
            self.short = False
            self._adjust_thread_count()


class ThreadPool:
    """``threads`` threads. Waiting calls take turns by ``key``, and one key uses at most ``share`` threads.

    The thread that was used last is used first. So after a wave of requests the threads that only the wave needed are
    not used; each of them calls ``let_go`` within two times ``idle`` seconds. Use the pool from one event loop only.
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        share: int,
        outside: bool,
        let_go: Callable[[], object] = lambda: None,
        idle: float = 60.0,
    ) -> None:
        self.name = name
        self._new_thread = partial(ThreadPoolExecutor, 1, name, initializer=mark, initargs=(outside,))
        self._let_go, self._idle = let_go, idle
        self.threads: list[ThreadPoolExecutor] = []  # each has one thread
        self._resting: list[ThreadPoolExecutor] = []
        self._unused = 0  # how many at the beginning of that list have rested all the time since the last look
        self._look: asyncio.TimerHandle | None = None
        self._threads, self._free, self._share = threads, threads, share
        self._running: Counter[str] = Counter()
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}

    def load(self) -> tuple[int, int, int]:
        """How many threads there are, how many are busy, and how many calls wait for one."""
        return self._threads, self._threads - self._free, sum(map(len, list(self._queues.values())))

    async def run(self, key: str, call: Callable[[], T]) -> T:
        """Run ``call`` in a thread when it is the turn of ``key``, and return or raise what it does."""
        loop = asyncio.get_running_loop()
        if self._free > 0 and self._running[key] < self._share:  # then no call with this key waits, since it would run
            self._running[key] += 1
            self._free -= 1
        else:
            turn = loop.create_future()
            self._queues.setdefault(key, deque()).append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # its turn has just come
                    self._release(key, None)
                raise
        if self._look is None:
            self._look = loop.call_later(self._idle, self._find_unused, loop)
        rested = bool(self._resting)
        thread = self._resting.pop() if rested else self._new_thread()
        self._unused = min(self._unused, len(self._resting))
        try:
            running = thread.submit(call)
        except (RuntimeError, MemoryError):  # the machine gives no thread now, and this call's place is another's
            self._release(key, None)
            raise
        if not rested:
            self.threads.append(thread)
        answer: asyncio.Future[T] = loop.create_future()  # asyncio.wrap_future does the same, and takes 10 µs more
        running.add_done_callback(lambda done: loop.call_soon_threadsafe(self._finish, key, thread, answer, done))
        return await answer

    def _finish(self, key: str, thread: ThreadPoolExecutor, answer: asyncio.Future[T], done: Future[T]) -> None:
        self._release(key, thread)
        if answer.done():  # the task that waited was cancelled, but the thread continued
            return
        if error := done.exception():
            answer.set_exception(error)
        else:
            answer.set_result(done.result())

    def _find_unused(self, loop: asyncio.AbstractEventLoop) -> None:
        for thread in self._resting[: self._unused]:
            thread.submit(self._let_go)
        self._unused = len(self._resting)
        self._look = loop.call_later(self._idle, self._find_unused, loop)

    def shutdown(self) -> None:
        """End the threads, after what they do now."""
        for thread in self.threads:
            thread.shutdown()

    def _release(self, key: str, thread: ThreadPoolExecutor | None) -> None:
        if thread:
            self._resting.append(thread)
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        self._free += 1
        # Start the next calls. When a call of a key has started, the key goes to the end of the queue.
        for following in [each for each in self._queues if self._running[each] < self._share]:
            if not self._free:
                return
            queue = self._queues.pop(following)
            turn = queue.popleft()
            if queue:
                self._queues[following] = queue
            if not turn.cancelled():
                self._running[following] += 1
                self._free -= 1
                turn.set_result(None)
