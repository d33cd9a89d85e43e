"""Writes an event and its webhook delivery in the caller's transaction, in the order of the agent's feed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model

from elicit_flows.domain.values import Json
from elicit_flows.events import wakeups
from elicit_flows.lib import telemetry
from elicit_flows.lib.compiled_query import CompiledInsert, prepared_cursor, stored
from elicit_flows.models import Agent, Delivery, Elicitation, Event

# Only in feeds and streams, not in webhooks: a form that is being filled in has several of these events a second, and
# each is out of date soon.
LIVE = frozenset({"elicitation.draft"})
# Taking the number locks the feed's row until the caller commits: that is what makes the feed gapless.
_NEXT = """
    INSERT INTO elicit_flows_feed (agent_id, position) VALUES (%s, 1)
    ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + 1
    RETURNING position
"""
_INSERT = """
    INSERT INTO elicit_flows_event (position, id, agent_id, type, elicitation_id, seq, created_at, data)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
# PostgreSQL does all in one go, so that the lock is held for as short as can be.
_TOGETHER = """
    WITH {beside} next AS (
        INSERT INTO elicit_flows_feed (agent_id, position) VALUES (%s, 1)
        ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + 1 RETURNING position
    )
    INSERT INTO elicit_flows_event (position, id, agent_id, type, elicitation_id, seq, created_at, data)
    SELECT next.position, %s, %s, %s, %s, %s::int, %s::timestamptz, %s::jsonb FROM next RETURNING position"""
# PostgreSQL sends the notification at commit. If there is Redis, the message goes there instead, after the commit.
_NOTIFY = ", pg_notify(%s, %s)"


def publish_new(agent: Agent, type: str, elicitation: Elicitation) -> Event:
    """Store a new elicitation, and tell of it. On PostgreSQL that is one statement, and so it needs no transaction."""
    alone = connection.vendor == "postgresql" and not connection.in_atomic_block
    with nullcontext() if alone else transaction.atomic():
        event = publish(agent, type, elicitation.snapshot(), elicitation, [elicitation])
    stored(elicitation)
    return event


def publish(
    agent: Agent, type: str, data: Json, elicitation: Elicitation | None = None, beside: Sequence[Model] = ()
) -> Event:
    """Record that something happened: insert the event at the next position of its agent's feed, the delivery of a
    webhook, and the new rows ``beside``. Call it last in the transaction that made it happen.

    No ORM, since this is the most frequent write.
    """
    if not beside and not connection.in_atomic_block:  # publish_new has looked itself
        raise RuntimeError("publish must be called in the transaction that made the change")
    head = elicitation.head if elicitation else None
    event = Event(agent=agent, type=type, elicitation=head, seq=head.seq if head else None, data=data)
    delivers = bool(agent.webhook_url) and agent.webhook_disabled_at is None and type not in LIVE
    if delivers:
        sent = Delivery(agent=agent, event_id=event.pk, trace=telemetry.within(head.trace if head else ""))
        beside = [*beside, sent]
    inserts = [CompiledInsert.of(row) for row in beside]
    created = connection.ops.adapt_datetimefield_value(event.created_at)
    values: list[str | int | None] = [event.id, event.agent_id, event.type, event.elicitation_id, event.seq, created]
    values.append(json.dumps(event.data))
    with prepared_cursor() as cursor:
        if connection.vendor == "postgresql":
            first = "".join(f"beside_{number} AS ({insert.sql}), " for number, insert in enumerate(inserts))
            channel = [] if settings.REDIS_URL else [wakeups.CHANNEL, wakeups.message(event.agent_id)]
            sql = _TOGETHER.format(beside=first) + (_NOTIFY if channel else "")
            given = [value for insert in inserts for value in insert.values]
            cursor.execute(sql, [*given, event.agent_id, *values, *channel])
            event.position = int(cursor.fetchone()[0])
        else:
            for insert in inserts:
                cursor.execute(insert.sql, insert.values)
            cursor.execute(_NEXT, [event.agent_id])
            event.position = int(cursor.fetchone()[0])
            cursor.execute(_INSERT, [event.position, *values])
    transaction.on_commit(partial(wakeups.wake, agent.pk, delivers))
    return event
