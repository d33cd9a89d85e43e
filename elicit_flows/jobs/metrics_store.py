"""Stores the counters of all processes in the database, by hour and over all time, and the health of the services that
we depend on.

Each process adds its counts every few seconds. A process that is killed loses its last counts.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import defaultdict
from dataclasses import asdict
from datetime import datetime

from django.db import DatabaseError, close_old_connections, connection, connections, transaction

from elicit_flows.lib import clock, counters, health
from elicit_flows.lib.counters import Counted
from elicit_flows.lib.health import HealthRecord
from elicit_flows.models import Health, Tally
from elicit_flows.models.counters import EVER

log = logging.getLogger(__name__)

EVERY = 5.0  # seconds
_ADD = """
    INSERT INTO elicit_flows_tally (hour, name, labels, count, sum) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (hour, name, labels) DO UPDATE
    SET count = elicit_flows_tally.count + excluded.count, sum = elicit_flows_tally.sum + excluded.sum
"""


def keep() -> None:
    """Store the counters and the health records of this process. If it raises DatabaseError, nothing is lost."""
    clock.measure(connection)
    _keep_counts()
    _keep_health()


def _keep_counts() -> None:
    taken = counters.drain()
    if not taken:
        return
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    rows = sorted(  # so that two processes do not deadlock
        (str(connection.ops.adapt_datetimefield_value(when)), name, json.dumps(labels), one.count, one.sum)
        for when in (hour, EVER)
        for (name, labels), one in taken.items()
    )
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(_ADD, rows)
    except DatabaseError:
        counters.restore(taken)
        raise


def _keep_health() -> None:
    seen = health.drain()
    try:
        for sort, name in sorted(seen):  # one transaction each, so that two processes do not deadlock
            with transaction.atomic():
                Health.objects.get_or_create(sort=sort, name=name)
                row = Health.objects.select_for_update().get(sort=sort, name=name)
                kept = HealthRecord(row.ok_at, row.failing_since, row.failed_at, row.failures, row.error)
                for field, value in asdict(kept.followed_by(seen[sort, name])).items():
                    setattr(row, field, value)
                row.save()
            del seen[sort, name]
    except DatabaseError:
        health.restore(seen)
        raise


def ever(name: str) -> dict[tuple[str, ...], Counted]:
    """The counts of ``name`` over all time, by labels."""
    return since(name, EVER, until=EVER).get(EVER, {})


def since(name: str, moment: datetime, until: datetime | None = None) -> dict[datetime, dict[tuple[str, ...], Counted]]:
    """The counts of ``name`` by hour and labels, from the hour of ``moment`` to ``until``."""
    found: dict[datetime, dict[tuple[str, ...], Counted]] = defaultdict(dict)
    rows = Tally.objects.filter(name=name, hour__gte=moment.replace(minute=0, second=0, microsecond=0))
    for row in rows.filter(hour__lte=until) if until else rows:
        found[row.hour][tuple(json.loads(row.labels))] = Counted(row.count, row.sum)
    return found


class MetricsWriter:
    """A thread that stores the counters of its process."""

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
