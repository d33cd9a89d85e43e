"""Whether the services that we depend on work: recorded in this process, stored by ``jobs.metrics_store``.

``sort`` and ``name`` are the operator's words or ours, never an id or anything about a person (threat T115).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime

from elicit_flows.lib import clock, counters

Key = tuple[str, str]
JOB = "job"


@dataclass(slots=True)
class HealthRecord:
    """``failing_since``: the first failure after the last success; ``failures``: how many there were since then."""

    ok_at: datetime | None = None
    failing_since: datetime | None = None
    failed_at: datetime | None = None
    failures: int = 0
    error: str = ""

    def followed_by(self, later: HealthRecord) -> HealthRecord:
        """Both records merged. ``later`` may overlap this one, because another process made it."""
        ok_at = max(filter(None, (self.ok_at, later.ok_at)), default=None)
        newest = later if (later.failed_at or _NEVER) >= (self.failed_at or _NEVER) else self
        streaks = [
            one for one in (self, later) if one.failing_since and one.failed_at and (not ok_at or one.failed_at > ok_at)
        ]
        begun = [one.failing_since for one in streaks if one.failing_since]
        since = min((moment for moment in begun if not ok_at or moment > ok_at), default=None)
        if streaks and since is None:  # another process saw a success within the streak, so its new start is not known
            since = max(one.failed_at for one in streaks if one.failed_at)
        return HealthRecord(ok_at, since, newest.failed_at, sum(one.failures for one in streaks), newest.error)


_NEVER = datetime.min.replace(tzinfo=UTC)
_lock = threading.Lock()
_seen: dict[Key, HealthRecord] = {}


def succeeded(sort: str, name: str) -> None:
    """``sort``: JOB, or ``provider``, ``payment`` or ``identity`` with the slug as ``name``. These three are counted as
    well.
    """
    if sort != JOB:
        counters.count("outcomes", sort, name, "ok")
    with _lock:
        one = _seen.setdefault((sort, name), HealthRecord())
        one.ok_at, one.failing_since, one.failures = clock.now(), None, 0


def failed(sort: str, name: str, error: str = "") -> None:
    """``error``: a code or a short word, with nothing about a person."""
    if sort != JOB:
        counters.count("outcomes", sort, name, "failed")
    with _lock:
        one = _seen.setdefault((sort, name), HealthRecord())
        one.failed_at = clock.now()
        one.failing_since = one.failing_since or one.failed_at
        one.failures += 1
        one.error = error


def drain() -> dict[Key, HealthRecord]:
    """Return what was recorded since the last call, and start again."""
    global _seen
    with _lock:
        taken, _seen = _seen, {}
    return taken


def restore(taken: dict[Key, HealthRecord]) -> None:
    """Merge back records that could not be stored."""
    with _lock:
        for key, one in taken.items():
            _seen[key] = one.followed_by(_seen[key]) if key in _seen else one
