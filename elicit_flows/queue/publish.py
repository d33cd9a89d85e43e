"""Writing an event: in the caller's transaction, in the agent's order, with its webhook delivery beside it."""

from __future__ import annotations

import json
from functools import partial

from django.conf import settings
from django.db import connection, transaction

from elicit_flows.models import Agent, Delivery, Elicitation, Event
from elicit_flows.queue import bell
from elicit_flows.values import Json

# One statement takes the number and locks the row until the caller commits: that is what makes the feed gapless.
_NEXT = """
    INSERT INTO elicit_flows_feed (agent_id, position) VALUES (%s, 1)
    ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + 1
    RETURNING position
"""
_INSERT = """
    INSERT INTO elicit_flows_event (id, agent_id, position, type, elicitation_id, seq, created_at, data)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
# PostgreSQL delivers the notification at commit; Redis, where there is one, is told after it.
_NEXT_AND_NOTIFY = _NEXT.rstrip() + ", pg_notify(%s, %s)"


def publish(agent: Agent, type: str, data: Json, elicitation: Elicitation | None = None) -> Event:
    """Record that something happened. Call it last in the transaction that made it happen."""
    if not connection.in_atomic_block:
        raise RuntimeError("an event is published in the transaction of what it tells")
    event = Event(
        agent=agent,
        position=_next_position(agent.pk),
        type=type,
        elicitation=elicitation,
        seq=elicitation.seq if elicitation else None,
        data=data,
    )
    _insert(event)
    if agent.wants_webhooks:
        Delivery.objects.create(agent=agent, event=event)
    transaction.on_commit(partial(bell.ring, agent.pk, agent.wants_webhooks))
    return event


def _next_position(agent_id: int) -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and not settings.REDIS_URL:
            cursor.execute(_NEXT_AND_NOTIFY, [agent_id, bell.CHANNEL, bell.message(agent_id)])
        else:
            cursor.execute(_NEXT, [agent_id])
        return int(cursor.fetchone()[0])


def _insert(event: Event) -> None:
    """The hottest write of all: as one prepared text."""
    values: list[str | int | None] = [event.id, event.agent_id, event.position, event.type]
    values += [event.elicitation_id, event.seq]
    created = connection.ops.adapt_datetimefield_value(event.created_at)
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [*values, created, json.dumps(event.data)])
