"""Counting what happens, in this process: in memory, and carried off by ``elicit_flows.tallies``.

Labels are words that the operator or this code chose (a kind, a status, a provider's slug), never an id or a person's
(threat T115).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

Key = tuple[str, tuple[str, ...]]
# Upper bounds of how long it took to complete, in seconds; what took longer is in the last, which has none.
BOUNDS = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
FOREVER = "inf"


@dataclass(slots=True)
class Counted:
    """``sum`` is in seconds, of what has a duration."""

    count: int = 0
    sum: float = 0.0


# What a process can say of itself at any moment, by name.
gauges: dict[str, Callable[[], int]] = {}

_lock = threading.Lock()
_counted: dict[Key, Counted] = {}


def count(name: str, *labels: str, by: int = 1, seconds: float = 0.0) -> None:
    with _lock:
        one = _counted.setdefault((name, labels), Counted())
        one.count += by
        one.sum += seconds


def bucket(seconds: float) -> str:
    """The label of the first bound that ``seconds`` does not pass."""
    return next((f"{bound:g}" for bound in BOUNDS if seconds <= bound), FOREVER)


def take() -> dict[Key, Counted]:
    """What was counted since the last time; it is the caller's now."""
    global _counted
    with _lock:
        taken, _counted = _counted, {}
    return taken


def give_back(taken: dict[Key, Counted]) -> None:
    """What could not be carried off."""
    for (name, labels), one in taken.items():
        count(name, *labels, by=one.count, seconds=one.sum)
