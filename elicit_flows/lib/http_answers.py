"""Counts the requests that this process answered, and how long they took.

The labels are route, method and status class. They are always words of ours, never a path or method that a client made
up (threat T115). Only the thread of the event loop counts. Nothing is stored, since Prometheus reads each process.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elicit_flows.lib import counters

BOUNDS = (0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
WAITS, PROXIED, STATIC, ADMIN, NONE = "waits", "proxied", "/static/", "/admin/", "none"
PROBES = {"livez", "healthz", "readyz", "metrics", "incidents"}
Key = tuple[str, str, str]


@dataclass(slots=True)
class Answered:
    """``buckets``: for each of BOUNDS, how many took at most this and more than the one before; then all others."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


_answered: dict[Key, Answered] = {}


def add(route: str, method: str, status: int, seconds: float) -> None:
    """``route``: the pattern of the view, or one of WAITS, STATIC and NONE."""
    family = f"{status // 100}xx"
    if route not in PROBES:
        counters.count("answers", family)  # for the front page, over all processes
    if route.startswith("admin/"):
        route = ADMIN
    elif route not in {WAITS, PROXIED, STATIC, NONE}:
        route = f"/{route}"
    one = _answered.setdefault((route, method if method in METHODS else "other", family), Answered())
    one.buckets[next((place for place, bound in enumerate(BOUNDS) if seconds <= bound), -1)] += 1
    one.seconds += seconds


def all_answered() -> list[tuple[Key, Answered]]:
    return sorted(_answered.items(), key=lambda pair: pair[0])


def forget() -> None:
    _answered.clear()
