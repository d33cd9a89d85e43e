"""The audit log as lines of JSON: what operators did (the admin's entries) and what happened (the events).

The line of an event says who did what, when, and how it ended. It contains neither questions nor answers.
"""

from __future__ import annotations

import json
import re
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db import OperationalError, connection, transaction

from elicit_flows.domain.values import Json
from elicit_flows.lib import clock
from elicit_flows.models import Event

BEYOND = 1_000_000
LOCK_NOT_AVAILABLE = "55P03"  # of PostgreSQL
# Line breaks beyond ASCII, what a terminal obeys, and what hides or reorders text. JSON leaves all of them as they are.
_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_KEPT = ("id", "object", "kind", "status", "subject", "provider", "amount", "currency")


def of_admin(after: int, most: int) -> list[tuple[int, str]]:
    """(position, line) of up to ``most`` entries after ``after``, in order, up to a gap that may still be filled."""
    rows = _entries(after, most)
    whole = [row for number, row in enumerate(rows, after + 1) if row.pk == number]
    if len(whole) < len(rows):
        rows = _when_nobody_writes(after, most) or whole
    return [(row.pk, admin_line(row)) for row in rows]


def _entries(after: int, most: int) -> list[LogEntry]:
    return list(LogEntry.objects.filter(pk__gt=after).select_related("user", "content_type").order_by("pk")[:most])


def _when_nobody_writes(after: int, most: int) -> list[LogEntry]:
    """The entries at a moment at which no transaction has a number that is not visible yet; none if one is open.

    A transaction takes the lock of the table before its number, and keeps it until its end. So with this lock, a
    number that is missing was given back. SQLite has one writer at a time, whose numbers have no gaps.
    """
    if connection.vendor != "postgresql":
        return _entries(after, most)
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {connection.ops.quote_name(LogEntry._meta.db_table)} IN SHARE MODE NOWAIT")
            return _entries(after, most)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") == LOCK_NOT_AVAILABLE:
            return []
        raise


def skip_admin_numbers() -> None:
    """After a restore: number further entries far beyond those that were lost and may have been sent elsewhere. A
    place that keeps each ``id`` once would drop a new entry with the number of a lost one.
    """
    table = LogEntry._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT setval(numbers, nextval(numbers) + %s) FROM pg_get_serial_sequence(%s, 'id') AS numbers",
                [BEYOND, table],
            )
            return
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [BEYOND, table])
        if not cursor.rowcount:
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, BEYOND])


def admin_line(row: LogEntry) -> str:
    return _line({
        "time": clock.rfc3339(row.action_time),
        "id": f"admin-{row.pk}",
        "source": "admin",
        "who": row.user.get_username(),
        "what": row.get_change_message(),
        "about": {
            "type": row.content_type.model if row.content_type else None, "id": row.object_id, "name": row.object_repr,
        },
    })  # fmt: skip


def event_line(row: Event) -> str:
    data: Json = row.data if isinstance(row.data, dict) else {}
    error = data.get("error")
    return _line({
        "time": clock.rfc3339(row.created_at),
        "id": row.pk,
        "source": "events",
        "type": row.type,
        "agent": row.agent.slug,
        "position": row.position,
        "elicitation": row.elicitation_id,
        "about": {name: data[name] for name in _KEPT if data.get(name) is not None},
        "error": error.get("code") if isinstance(error, dict) else None,
    })  # fmt: skip


def _line(said: dict[str, Any]) -> str:
    """The members that are not None, as JSON on one line, in which every character can be seen (threats T116, T145)."""
    kept = {name: value for name, value in said.items() if value is not None}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"), default=str)
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)
