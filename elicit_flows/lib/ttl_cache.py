"""A small cache in this process whose values expire."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TtlCache(Generic[K, V]):
    """At most ``most`` values, each kept for ``seconds``. Safe for threads.

    A full cache is emptied: that is rare, and costs one look-up for each value that is needed again.
    """

    def __init__(self, seconds: float, most: int) -> None:
        self.seconds, self._most = seconds, most
        self._kept: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        kept = self._kept.get(key)
        return kept[1] if kept and kept[0] > time.monotonic() else None

    def put(self, key: K, value: V) -> None:
        if len(self._kept) >= self._most:
            self._kept.clear()
        self._kept[key] = time.monotonic() + self.seconds, value

    def drop(self, key: K) -> None:
        self._kept.pop(key, None)

    def clear(self) -> None:
        self._kept.clear()
