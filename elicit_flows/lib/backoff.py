"""Retry schedules with back-off, and a circuit breaker."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class RetrySchedule:
    """``pauses[n]`` is the pause after ``n`` failed attempts; the last one repeats.

    ``most`` is the number of attempts before giving up; None never gives up.
    """

    pauses: tuple[timedelta, ...]
    most: int | None = None

    @classmethod
    def of_seconds(cls, *seconds: int) -> RetrySchedule:
        """One attempt for each of these pauses. The first pause comes before the first attempt."""
        return cls(tuple(timedelta(seconds=pause) for pause in seconds), len(seconds))

    @classmethod
    def doubling(cls, first: timedelta, longest: timedelta, most: int | None = None) -> RetrySchedule:
        """Each pause is twice the one before, up to ``longest``: after ``n`` failed attempts it is ``first * 2**n``."""
        pauses = [first]
        while pauses[-1] < longest:
            pauses.append(min(pauses[-1] * 2, longest))
        return cls(tuple(pauses), most)

    def pause(self, failures: int, jitter: float = 1.0) -> timedelta:
        """The pause after so many failed attempts.

        ``jitter`` (0 to 1) places the attempt within the second half of the pause, so that attempts that failed
        together are not repeated together. By default the whole pause passes.
        """
        return self.pauses[min(failures, len(self.pauses) - 1)] * (0.5 + jitter / 2)

    def is_used_up(self, tries: int) -> bool:
        """Whether there are no attempts left after ``tries``."""
        return self.most is not None and tries >= self.most


class CircuitBreaker(Generic[K]):
    """Skips slow servers: for ``rest`` seconds after ``trip``, the key of the server is in ``open_keys``.

    Each process learns this by itself and forgets it soon. A breaker only saves time; nothing else depends on it.
    """

    def __init__(self, rest: float, slow: float = float("inf")) -> None:
        self.rest, self.slow = rest, slow
        self._open_until: dict[K, float] = {}  # monotonic

    def trip(self, key: K) -> None:
        self._open_until[key] = time.monotonic() + self.rest

    @contextmanager
    def timed(self, key: K) -> Iterator[None]:
        """Around a call: if it takes longer than ``slow`` seconds, answered or not, the breaker trips."""
        began = time.monotonic()
        try:
            yield
        finally:
            if time.monotonic() - began > self.slow:
                self.trip(key)

    def open_keys(self) -> list[K]:
        """The keys of the servers to skip now."""
        now = time.monotonic()
        for key in [key for key, until in self._open_until.items() if until <= now]:
            self._open_until.pop(key, None)  # another thread may have removed it
        return list(self._open_until)

    def forget(self) -> None:
        """Skip nobody. For tests."""
        self._open_until.clear()
