"""The record of what was done with a connection: a row an hour and action, however often it was done."""

from __future__ import annotations

from django.db import connection

from elicit_flows.lib import clock
from elicit_flows.models import Connection, Use

# One statement, so that two at once count as two.
_NOTE = """
    INSERT INTO elicit_flows_use (connection_id, action, actor, hour, count, first_at, last_at)
    VALUES (%s, %s, %s, %s, 1, %s, %s)
    ON CONFLICT (connection_id, hour, action, actor)
    DO UPDATE SET count = elicit_flows_use.count + 1, last_at = excluded.last_at
"""


def note(row: Connection, action: Use.Action, actor: Use.Actor) -> None:
    """It was done just now, in the caller's transaction."""
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    at, since = (connection.ops.adapt_datetimefield_value(one) for one in (now, hour))
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [row.pk, action.value, actor.value, since, at, at])
