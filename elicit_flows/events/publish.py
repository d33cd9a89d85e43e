"""Writes an event and its webhook delivery in the caller's transaction, in the order of the agent's feed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import Model

from elicit_flows.domain.values import Json
from elicit_flows.events import wakeups
from elicit_flows.lib import telemetry
from elicit_flows.lib.compiled_query import CompiledInsert, prepared_cursor
from elicit_flows.models import Agent, Delivery, Elicitation, Event

# Only in feeds and streams, not in webhooks: a form that is being filled in has several of these events a second, and
# each is out of date soon.
LIVE = frozenset({"elicitation.draft"})
# Taking the numbers locks the feed's row until the caller commits: that is what makes the feed gapless.
_NEXT = """
    INSERT INTO elicit_flows_feed (agent_id, position) VALUES (%s, %s)
    ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + excluded.position
    RETURNING position
"""
_INSERT = """
    INSERT INTO elicit_flows_event (position, id, agent_id, type, elicitation_id, seq, created_at, data)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
# PostgreSQL does all in one go, so that the lock is held for as short as can be.
_TOGETHER = """
    WITH {beside} next AS ({next})
    INSERT INTO elicit_flows_event (position, id, agent_id, type, elicitation_id, seq, created_at, data)
    {events} RETURNING position"""
_EVENT = "SELECT next.position - %s::bigint, %s, %s::bigint, %s, %s, %s::int, %s::timestamptz, %s::jsonb FROM next"
# PostgreSQL sends the notification at commit. If there is Redis, the message goes there instead, after the commit.
_NOTIFY = ", pg_notify(%s, %s)"


def publish_created(agent: Agent, rows: Sequence[Elicitation]) -> None:
    """Store new elicitations of an agent, and tell of them. On PostgreSQL that is one statement, and so it needs no
    transaction.
    """
    told = [("elicitation.completed" if row.reused else "elicitation.created", row.snapshot(), row) for row in rows]
    alone = connection.vendor == "postgresql" and not connection.in_atomic_block
    with nullcontext() if alone else transaction.atomic():
        _write(agent, told, rows)
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias  # stored, as ``save`` marks it


def publish(agent: Agent, type: str, data: Json, elicitation: Elicitation | None = None) -> Event:
    """Record that something happened: insert the event at the next position of its agent's feed, and the delivery of a
    webhook. Call it last in the transaction that made it happen.

    No ORM, since this is the most frequent write.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("publish must be called in the transaction that made the change")
    [event] = _write(agent, [(type, data, elicitation)])
    return event


def _write(
    agent: Agent, told: Sequence[tuple[str, Json, Elicitation | None]], beside: Sequence[Model] = ()
) -> list[Event]:
    """Insert an agent's events at the next positions of its feed, their deliveries, and the new rows ``beside``.

    ``told``: of each event its type, its data, and the elicitation or step that it is about.
    """
    events = []
    for what, data, elicitation in told:
        head = elicitation.head if elicitation else None
        events.append(Event(agent=agent, type=what, elicitation=head, seq=head.seq if head else None, data=data))
    delivers = bool(agent.webhook_url) and agent.webhook_disabled_at is None and events[0].type not in LIVE
    if delivers:
        trace = [telemetry.within(each.elicitation.trace if each.elicitation else "") for each in events]
        sent = [Delivery(agent=agent, event_id=each.pk, trace=of) for each, of in zip(events, trace, strict=True)]
        beside = [*beside, *sent]
    inserts = [CompiledInsert.of(row) for row in beside]
    own = connections[DEFAULT_DB_ALIAS]
    values: list[list[str | int | None]] = []
    for each in events:
        created = own.ops.adapt_datetimefield_value(each.created_at)
        values.append([each.id, agent.pk, each.type, each.elicitation_id, each.seq, created, json.dumps(each.data)])
    with prepared_cursor() as cursor:
        if own.vendor == "postgresql":
            first = "".join(f"beside_{number} AS ({insert.sql}), " for number, insert in enumerate(inserts))
            channel = [] if settings.REDIS_URL else [wakeups.CHANNEL, wakeups.message(agent.pk)]
            each_event = " UNION ALL ".join([_EVENT] * len(events))
            sql = _TOGETHER.format(beside=first, next=_NEXT, events=each_event) + (_NOTIFY if channel else "")
            given = [value for insert in inserts for value in insert.values]
            behind = range(len(events) - 1, -1, -1)
            placed = [value for back, row in zip(behind, values, strict=True) for value in (back, *row)]
            cursor.execute(sql, [*given, agent.pk, len(events), *placed, *channel])
            last = max(position for position, *_ in cursor.fetchall())
        else:
            for insert in inserts:
                cursor.execute(insert.sql, insert.values)
            cursor.execute(_NEXT, [agent.pk, len(events)])
            last = int(cursor.fetchone()[0])
            for back, row in zip(range(len(events) - 1, -1, -1), values, strict=True):
                cursor.execute(_INSERT, [last - back, *row])
    for back, event in enumerate(reversed(events)):
        event.position = last - back
    transaction.on_commit(partial(wakeups.wake, agent.pk, delivers))
    return events
