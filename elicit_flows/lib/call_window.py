"""Runs many calls to other servers: one thread starts them and records their results, and waits for none.

Each call has a key, which stands for the server. A key has a limited share of the running calls, so a server that hangs
delays only its own calls.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, OperationalError

from elicit_flows.lib.thread_pools import RetryingThreads

K = TypeVar("K", bound=Hashable)
Then = Callable[["Future[Any]"], None]
Returned = tuple[K, "Future[Any]", Then]  # a call that has returned: its key, its result, and what takes the result


class CallWindow(ABC, Generic[K]):
    """``limit`` calls run at a time, ``per_key`` of one key. ``wake`` is set whenever one has returned.

    A job derives from it and implements ``begin_due``. The worker calls ``start_due`` and ``close``.
    """

    together = 1  # how many results are recorded at a time

    def __init__(self, name: str, limit: int, per_key: int) -> None:
        self._threads = RetryingThreads(limit, thread_name_prefix=name)
        self._limit, self._per_key = limit, per_key
        self._under_way: Counter[K] = Counter()
        self._back: SimpleQueue[Returned[K]] = SimpleQueue()
        self.wake = threading.Event()

    @property
    def room(self) -> int:
        """How many more calls may be started now."""
        return self._limit - self._under_way.total()

    @property
    def idle(self) -> bool:
        return not self._under_way.total()

    @property
    def full(self) -> list[K]:
        """The keys that have used up their share."""
        return [key for key, count in self._under_way.items() if count >= self._per_key]

    @abstractmethod
    def begin_due(self) -> int:
        """Start the calls that are due, as far as there is room. Returns how many rows were handled."""

    def start_due(self) -> int:
        """Record the results, and start what is due. Returns how many rows were handled."""
        self._threads.nudge()
        self.record()
        return self.begin_due()

    def has_room(self, key: K, besides: int = 0) -> bool:
        """``besides``: how many calls of this key are about to be started."""
        return self.room > 0 and self._under_way[key] + besides < self._per_key

    def start(self, key: K, call: Callable[[], Any], then: Then) -> None:
        """Run ``call`` in a thread; pass the finished future to ``then``, in the thread that calls ``record``."""
        self._under_way[key] += 1

        def came_back(future: Future[Any]) -> None:
            self._back.put((key, future, then))
            self.wake.set()

        self._threads.submit(call).add_done_callback(came_back)

    def record(self) -> int:
        """Record the results. Returns how many. If the database is unavailable, they are kept for the next time."""
        count = self._back.qsize()
        for begin in range(0, count, self.together):
            self._record([self._back.get() for _ in range(min(self.together, count - begin))])
        self._under_way = +self._under_way
        return count

    def _record(self, returned: list[Returned[K]]) -> None:
        kept: list[Returned[K]] = []
        try:
            kept = self.record_together(returned)
        except (InterfaceError, OperationalError):
            kept = returned
            raise
        finally:
            for one in returned:
                if one in kept:
                    self._back.put(one)
                else:
                    self._under_way[one[0]] -= 1

    def record_together(self, returned: list[Returned[K]]) -> list[Returned[K]]:
        """Pass each result to its ``then``. Returns those to be kept for the next time."""
        for _, future, then in returned:
            then(future)
        return []

    def close(self) -> None:
        """Wait for the running calls and record them: a refreshed token that is not stored would be lost."""
        self._threads.shutdown(wait=True)
        self.record()
