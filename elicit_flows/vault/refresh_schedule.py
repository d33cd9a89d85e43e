"""When a connection is refreshed next, when a failed refresh is tried again, and when refusals end a grant."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta

from django.conf import settings

from elicit_flows.job_table import REFRESH
from elicit_flows.lib import clock
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.models import Connection

LEASE = REFRESH.lease  # longer than the provider's deadline, so a live holder never loses it
EARLY = 5  # a token in use is refreshed in the last fifth of its lifetime,
MOST_EARLY = timedelta(days=3)  # at most three days before it expires, which covers an outage over a weekend
UNUSED_EVERY = timedelta(hours=24)  # often enough to keep an unused grant alive at providers that end idle grants
ABANDONED = timedelta(days=45)  # unused for so long: not refreshed; longer than a monthly job's pause
UNANSWERED = RetrySchedule.doubling(timedelta(seconds=10), timedelta(minutes=15))  # while it does not answer
REFUSED = RetrySchedule.doubling(timedelta(seconds=10), timedelta(hours=1))
# After an agent reported a rejected token, this many refusals over this time end the grant.
REPORTED_TRIES, REPORTED_FOR = 3, timedelta(hours=1)


def next_refresh(row: Connection) -> datetime | None:
    """When the worker refreshes the connection next. None if it does not; a fetch still refreshes an expired token."""
    if row.status != Connection.Status.ACTIVE or not row.refresh_token:
        return None
    if row.refresh_started_at is not None:
        return next_try(row)
    if row.expires_at is None:
        return None
    used = row.last_used_at or row.created_at
    if clock.now() - used > ABANDONED:
        return None
    if used < row.issued_at:
        return max(row.expires_at, row.issued_at + UNUSED_EVERY) + _jitter(row) * UNUSED_EVERY / 10
    early = min((row.expires_at - row.issued_at) / EARLY, MOST_EARLY)
    return row.expires_at - early + _jitter(row) * early / 2


def next_try(row: Connection) -> datetime:
    """When a refresh that failed is tried again. If its process died, that is when the lease ends."""
    if row.refresh_failures:
        pause = (REFUSED if row.refresh_refusals else UNANSWERED).pause(row.refresh_failures, _jitter(row))
    else:
        pause = LEASE
    return (row.refresh_started_at or clock.now()) + pause


def ends_at(row: Connection) -> datetime:
    """The time after which one more refusal ends the grant, for a connection whose refresh was refused."""
    life = timedelta(hours=settings.ELICIT_REFUSED_HOURS)
    return (row.refused_since or clock.now()) + (min(life, REPORTED_FOR) if row.reported else life)


def refused_to_death(row: Connection) -> bool:
    """Whether the refresh has now been refused often and long enough to end the grant."""
    tries = settings.ELICIT_REFUSED_TRIES
    return (
        row.refresh_refusals >= (min(tries, REPORTED_TRIES) if row.reported else tries) and ends_at(row) <= clock.now()
    )


def _jitter(row: Connection) -> float:
    """From 0 to 1, different for each row and token: tokens of one minute are not refreshed in the same minute."""
    return zlib.crc32(f"{row.pk}.{row.generation}".encode()) / 2**32
