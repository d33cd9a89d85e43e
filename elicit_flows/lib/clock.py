"""The time. One place, so that a test can move it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)


def rfc3339(moment: datetime | None) -> str | None:
    """``2026-11-21T10:00:00.000000Z``, or None for None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
