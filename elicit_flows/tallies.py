"""What was counted, kept in the database: added up over all processes, by the hour and over all time.

Each process writes what it counted every few seconds. One that is killed loses the last of it.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from django.db import DatabaseError, close_old_connections, connection, connections, transaction

from elicit_flows.lib import clock, tally
from elicit_flows.lib.tally import Counted, Key
from elicit_flows.models import Tally
from elicit_flows.models.tally import EVER

log = logging.getLogger(__name__)

EVERY = 5.0  # seconds
_ADD = """
    INSERT INTO elicit_flows_tally (hour, name, labels, count, sum) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (hour, name, labels) DO UPDATE
    SET count = elicit_flows_tally.count + excluded.count, sum = elicit_flows_tally.sum + excluded.sum
"""


def keep() -> None:
    """Write what this process counted. Raises DatabaseError, and nothing is lost by it."""
    taken = tally.take()
    if not taken:
        return
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(_ADD, sorted(_rows(taken, hour)))  # in order, so that two processes do not deadlock
    except DatabaseError:
        tally.give_back(taken)
        raise


def _rows(taken: dict[Key, Counted], hour: datetime) -> Iterator[tuple[str, str, str, int, float]]:
    for when in (hour, EVER):
        at = str(connection.ops.adapt_datetimefield_value(when))
        for (name, labels), one in taken.items():
            yield at, name, json.dumps(labels), one.count, one.sum


def ever(name: str) -> dict[tuple[str, ...], Counted]:
    """By labels, over all time."""
    return since(name, EVER, until=EVER).get(EVER, {})


def since(name: str, moment: datetime, until: datetime | None = None) -> dict[datetime, dict[tuple[str, ...], Counted]]:
    """By hour and labels, the hours from that of ``moment`` on."""
    found: dict[datetime, dict[tuple[str, ...], Counted]] = defaultdict(dict)
    rows = Tally.objects.filter(name=name, hour__gte=moment.replace(minute=0, second=0, microsecond=0))
    for row in rows.filter(hour__lte=until) if until else rows:
        found[row.hour][tuple(json.loads(row.labels))] = Counted(row.count, row.sum)
    return found


class Keeper:
    """A thread that keeps what its process counts."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tallies", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=EVERY)

    def _run(self) -> None:
        while not self._stopping.wait(EVERY):
            keep_if_possible()
            close_old_connections()
        keep_if_possible()
        connections.close_all()


def keep_if_possible() -> None:
    try:
        keep()
    except DatabaseError as error:
        log.warning("what was counted cannot be kept now; it is tried again: %s", error)
