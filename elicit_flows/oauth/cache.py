"""A cache of fetched values: one fetch at a time for each key, and failures are cached briefly."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from elicit_flows.oauth.errors import DiscoveryError

log = logging.getLogger(__name__)
T = TypeVar("T")

# Replaced by tests that move the time.
monotonic = time.monotonic


@dataclass
class _Entry(Generic[T]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: T | None = None
    failure: str = ""
    until: float = 0.0
    renewed: float = float("-inf")


class Cache(Generic[T]):
    """``ttl``, ``failure_ttl`` and ``renew_interval`` are in seconds; ``fetch`` raises DiscoveryError.

    ``renew`` fetches early, for each key at most once in ``renew_interval`` seconds. Of more than ``most`` keys the one
    gives way that was not used for the longest time: strangers name keys too (threat T155).
    """

    def __init__(
        self,
        fetch: Callable[[str], T],
        *,
        ttl: float = 600.0,
        failure_ttl: float = 2.0,
        renew_interval: float = 60.0,
        most: int = 500,
    ) -> None:
        self._fetch, self._ttl, self._failure_ttl, self._renew_interval = fetch, ttl, failure_ttl, renew_interval
        self._most = most
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> T:
        """The value, fetched if there is no valid one. Raises DiscoveryError."""
        entry = self._entry(key)
        with entry.lock:
            if entry.until <= monotonic():
                try:
                    entry.value, entry.until = self._fetch(key), monotonic() + self._ttl
                except DiscoveryError as error:
                    log.warning("%s: %s", key, error)
                    entry.value, entry.failure, entry.until = None, str(error), monotonic() + self._failure_ttl
            if entry.value is None:
                raise DiscoveryError(entry.failure)
            return entry.value

    def renew(self, key: str) -> T:
        """The value, fetched again if that is allowed now. Raises DiscoveryError."""
        entry = self._entry(key)
        with entry.lock:
            if monotonic() - entry.renewed >= self._renew_interval:
                entry.renewed = monotonic()
                # As in get, but after a failure the old value stays until it expires.
                try:
                    entry.value, entry.until = self._fetch(key), monotonic() + self._ttl
                except DiscoveryError as error:
                    log.warning("%s: %s", key, error)
        return self.get(key)

    def peek(self, key: str) -> T | None:
        """The value if it is cached. Neither fetches nor waits."""
        entry = self._entries.get(key)
        return entry.value if entry and entry.until > monotonic() else None

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def _entry(self, key: str) -> _Entry[T]:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            if len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return entry
