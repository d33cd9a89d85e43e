"""Writing an event: in the caller's transaction, in the agent's order, with its webhook delivery beside it."""

from __future__ import annotations

import json
from functools import partial

from django.conf import settings
from django.db import connection, transaction

from elicit_flows.lib import tracing
from elicit_flows.models import Agent, Delivery, Elicitation, Event
from elicit_flows.queue import bell
from elicit_flows.values import Json

# Feeds and streams alone carry what is of use only while it happens: a page being filled in tells several a second.
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
# PostgreSQL does both in one go, so that the lock is held for as short as can be.
_BOTH = """
    WITH next AS (
        INSERT INTO elicit_flows_feed (agent_id, position) VALUES (%s, 1)
        ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + 1 RETURNING position
    )
    INSERT INTO elicit_flows_event (position, id, agent_id, type, elicitation_id, seq, created_at, data)
    SELECT next.position, %s, %s, %s, %s, %s::int, %s::timestamptz, %s::jsonb FROM next RETURNING position
"""
# It delivers the notification at commit; Redis, where there is one, is told after it.
_BOTH_AND_NOTIFY = _BOTH.rstrip() + ", pg_notify(%s, %s)"


def publish(agent: Agent, type: str, data: Json, elicitation: Elicitation | None = None) -> Event:
    """Record that something happened. Call it last in the transaction that made it happen."""
    if not connection.in_atomic_block:
        raise RuntimeError("an event is published in the transaction of what it tells")
    head = elicitation.head if elicitation else None
    event = Event(agent=agent, type=type, elicitation=head, seq=head.seq if head else None, data=data)
    event.position = _insert(event)
    delivers = agent.wants_webhooks and type not in LIVE
    if delivers:
        Delivery.objects.create(agent=agent, event=event, trace=tracing.within(head.trace if head else ""))
    transaction.on_commit(partial(bell.ring, agent.pk, delivers))
    return event


def _insert(event: Event) -> int:
    """The event's row, at the position that is next in its agent's feed. The hottest write of all: no ORM."""
    created = connection.ops.adapt_datetimefield_value(event.created_at)
    values: list[str | int | None] = [event.id, event.agent_id, event.type, event.elicitation_id, event.seq, created]
    values.append(json.dumps(event.data))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            bell_too = [] if settings.REDIS_URL else [bell.CHANNEL, bell.message(event.agent_id)]
            cursor.execute(_BOTH_AND_NOTIFY if bell_too else _BOTH, [event.agent_id, *values, *bell_too])
            return int(cursor.fetchone()[0])
        cursor.execute(_NEXT, [event.agent_id])
        position = int(cursor.fetchone()[0])
        cursor.execute(_INSERT, [position, *values])
        return position
