"""When the worker refreshes a connection next. The row's values in, a time out: asked twice it says the same."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta

from elicit_flows.lib import clock
from elicit_flows.models import Connection

LEASE = timedelta(seconds=30)  # longer than the provider's deadline, so a live holder never loses it
EARLY = 5  # a token in use is refreshed in the last fifth of its life,
MOST_EARLY = timedelta(days=3)  # three days before its end at the most: an outage over a weekend
UNUSED_EVERY = timedelta(hours=24)  # often enough that no provider's idle limit ends a grant that nobody uses
ABANDONED = timedelta(days=45)  # then it is left alone: a job that runs once a month still finds its grant alive
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(minutes=15)  # between tries of a provider in trouble


def next_refresh(row: Connection) -> datetime | None:
    """None: nothing that the worker does of itself. A fetch refreshes it all the same."""
    if row.status != Connection.Status.ACTIVE or not row.refresh_token or row.expires_at is None:
        return None
    if row.refresh_started_at is not None:
        return row.refresh_started_at + _pause(row)
    used = row.last_used_at or row.created_at
    if clock.now() - used > ABANDONED:
        return None
    if used < row.issued_at:
        return max(row.expires_at, row.issued_at + UNUSED_EVERY) + _part(row) * UNUSED_EVERY / 10
    early = min((row.expires_at - row.issued_at) / EARLY, MOST_EARLY)
    return row.expires_at - early + _part(row) * early / 2


def _pause(row: Connection) -> timedelta:
    """Before a refresh that was begun is tried again: at once when its process died, longer with each failure."""
    if not row.refresh_failures:
        return LEASE
    longest = min(FIRST_PAUSE * (1 << min(row.refresh_failures, 10)), LONGEST_PAUSE)
    return longest * (0.5 + _part(row) / 2)


def _part(row: Connection) -> float:
    """From 0 to 1, different for each row and token: those that were made in one minute are not due in one minute."""
    return zlib.crc32(f"{row.pk}.{row.generation}".encode()) / 2**32
