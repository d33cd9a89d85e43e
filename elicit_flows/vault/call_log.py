"""The log of the calls that agents make through this service, for the pages of the people whose accounts they are.

Calls are collected in memory and stored about once a second, alike ones together. A process that is killed loses its
last second.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import DatabaseError, connection, transaction

from elicit_flows.lib import clock
from elicit_flows.models import Connection, ConnectionCall

MOST_AN_HOUR = 100  # rows of one connection; further paths are counted together
_ADD = """
    INSERT INTO elicit_flows_connectioncall
        (connection_id, hour, method, host, path, status, count, first_at, last_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (connection_id, hour, method, host, path, status) DO UPDATE
    SET count = elicit_flows_connectioncall.count + excluded.count, last_at = excluded.last_at
"""


class Call(NamedTuple):
    """``path``: a template. ``status``: the API's, 0 if it gave no usable answer."""

    connection: str
    hour: datetime
    method: str
    host: str
    path: str
    status: int


@dataclass(slots=True)
class _Counted:
    count: int
    first_at: datetime
    last_at: datetime


class CallLog:
    """``add`` in one thread, ``store`` in another."""

    def __init__(self) -> None:
        self._calls: dict[Call, _Counted] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """Whether there is anything to store."""
        return bool(self._calls)

    def add(self, connection_id: str, method: str, host: str, path: str, status: int) -> None:
        now = clock.now()
        hour = now.replace(minute=0, second=0, microsecond=0)
        self._count(Call(connection_id, hour, method, host, path, status), _Counted(1, now, now))

    def _count(self, call: Call, new: _Counted) -> None:
        with self._lock:
            if known := self._calls.get(call):
                known.count += new.count
                known.first_at, known.last_at = min(known.first_at, new.first_at), max(known.last_at, new.last_at)
            else:
                self._calls[call] = new

    def store(self) -> None:
        """Store what was added. If it raises DatabaseError, nothing is lost."""
        with self._lock:
            taken, self._calls = self._calls, {}
        try:
            _store(taken)
        except DatabaseError:
            for call, counted in taken.items():
                self._count(call, counted)
            raise


def _store(taken: dict[Call, _Counted]) -> None:
    adapt = connection.ops.adapt_datetimefield_value
    with transaction.atomic():
        # A connection may have been deleted since. One that is deleted now waits for this transaction.
        rows = Connection.objects.select_for_update(of=("self",), no_key=True).order_by("pk")
        there = set(rows.filter(pk__in={call.connection for call in taken}).values_list("pk", flat=True))
        known = _known({call for call in taken if call.connection in there})
        values = []
        for call in sorted(taken):  # in order, so that two processes do not deadlock
            if call.connection not in there:
                continue
            kept, counted, stored = call, taken[call], known[call.connection, call.hour]
            if call not in stored and len(stored) >= MOST_AN_HOUR:  # calls beyond the limit are counted together
                kept = call._replace(path="", status=call.status // 100 * 100)
            stored.add(kept)
            times = (adapt(counted.first_at), adapt(counted.last_at))
            values.append((kept[0], adapt(kept.hour), *kept[2:], counted.count, *times))
        if values:
            with connection.cursor() as cursor:
                cursor.executemany(_ADD, values)


def _known(calls: set[Call]) -> dict[tuple[str, datetime], set[Call]]:
    """The calls that are stored for these connections and hours."""
    found: dict[tuple[str, datetime], set[Call]] = defaultdict(set)
    rows = ConnectionCall.objects.filter(
        connection__in={call.connection for call in calls}, hour__in={call.hour for call in calls}
    )
    for row in rows.values_list("connection_id", "hour", "method", "host", "path", "status"):
        found[row[0], row[1]].add(Call(*row))
    return found
