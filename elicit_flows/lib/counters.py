"""In-process counters, which ``elicit_flows.jobs.metrics_store`` writes to the database.

Labels are words that the operator or this code chose (a kind, a status, a provider's slug), never an id or anything
about a person (threat T115).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

Key = tuple[str, tuple[str, ...]]
# Upper bounds of the duration buckets, in seconds. Longer durations are in the last bucket, which has no bound.
BOUNDS = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
FOREVER = "inf"


@dataclass(slots=True)
class Counted:
    """``sum`` is in seconds, for counters with a duration."""

    count: int = 0
    sum: float = 0.0


# Values that this process can report at any time, by name.
gauges: dict[str, Callable[[], int]] = {}
# Of each pool of threads: how many there are, how many are busy, and how many requests wait for one.
pools: dict[str, Callable[[], tuple[int, int, int]]] = {}

_lock = threading.Lock()
_counted: dict[Key, Counted] = {}


def count(name: str, *labels: str, by: int = 1, seconds: float = 0.0) -> None:
    with _lock:
        one = _counted.setdefault((name, labels), Counted())
        one.count += by
        one.sum += seconds


def bucket(seconds: float) -> str:
    """The label of the bucket that ``seconds`` falls into."""
    return next((f"{bound:g}" for bound in BOUNDS if seconds <= bound), FOREVER)


def drain() -> dict[Key, Counted]:
    """Return what was counted since the last call, and start again from zero."""
    global _counted
    with _lock:
        taken, _counted = _counted, {}
    return taken


def restore(taken: dict[Key, Counted]) -> None:
    """Add back counts that could not be stored."""
    for (name, labels), one in taken.items():
        count(name, *labels, by=one.count, seconds=one.sum)
