"""The current time, in one place, so that tests can move it and all processes follow the database's clock.

``now`` decides whether something has expired or is due. It corrects a wrong clock of this process; otherwise a process
whose clock is an hour ahead would expire elicitations that were just created. If somebody sets the clock while the
process runs, a clock that nobody can set corrects it at once.
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

log = logging.getLogger(__name__)
TOLERATED = 1.0  # seconds of difference that are not corrected, because they change with every measurement
MEASURE_EVERY = 60.0  # seconds
# Nobody can set it. CLOCK_BOOTTIME, which not every system has, goes on while the machine sleeps.
STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Correction:
    """``by`` is added to this process's clock. It is 0 as long as the clock agrees with the database's.

    ``steady``: the difference between this clock and one that nobody can set, when they were last compared; None
    before.
    """

    def __init__(self) -> None:
        self.by = timedelta()
        self.steady: float | None = None
        self._next = float("-inf")  # monotonic
        self._lock = threading.Lock()

    def is_due(self) -> bool:
        """Whether it is time to measure. True for only one of several callers at the same time."""
        with self._lock:
            due = time.monotonic() >= self._next
            if due:
                self._next = time.monotonic() + MEASURE_EVERY
            return due

    def follow(self, theirs: float, before: float, after: float) -> None:
        """Set the correction. ``theirs`` is the database's time, read when this process's clock was between ``before``
        and ``after`` (Unix time, in seconds).
        """
        apart = theirs - (before + after) / 2
        by = timedelta(seconds=apart) if abs(apart) > TOLERATED + (after - before) / 2 else timedelta()
        if abs(by - self.by) > timedelta(seconds=TOLERATED):
            log.warning("this process's clock and the database's are %.1f s apart; it goes by the database's", -apart)
        self.by, self.steady = by, time.time() - time.clock_gettime(STEADY)


correction = Correction()


def measure(connection: Any, **_: Any) -> None:
    """Compare this process's clock with the database's, if that is due: at the first connection, and every minute.

    ``connection`` is Django's. SQLite has this machine's clock. Raises DatabaseError.
    """
    if connection.vendor != "postgresql" or not correction.is_due():
        return
    with connection.cursor() as cursor:
        before = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        [theirs] = cursor.fetchone()
        correction.follow(theirs, before, time.time())


def now() -> datetime:
    if correction.steady is not None:
        stepped = time.time() - time.clock_gettime(STEADY) - correction.steady
        if abs(stepped) > TOLERATED:
            return datetime.now(UTC) + correction.by - timedelta(seconds=stepped)
    return datetime.now(UTC) + correction.by


def midnight(day: date) -> datetime:
    """When the day begins (UTC)."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC. Raises ValueError if it is before the year 1 or after the year 9999 there."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("Give a time between the years 1 and 9999 in UTC.") from None


def rfc3339(moment: datetime | None) -> str | None:
    """``2026-11-21T10:00:00.000000Z``, or None for None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
