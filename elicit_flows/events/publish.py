"""Writes an event and its webhook delivery in the caller's transaction, in the order of the agent's feed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import Model

from elicit_flows.domain.values import Json
from elicit_flows.events import wakeups
from elicit_flows.lib import telemetry
from elicit_flows.lib.compiled_query import CompiledInsert, CompiledUpdate, prepared_cursor
from elicit_flows.models import Agent, Delivery, Elicitation, Event

# Only in feeds and streams, not in webhooks: a form that is being filled in has several of these events a second, and
# each is out of date soon.
LIVE = frozenset({"elicitation.draft"})
# Taking the numbers locks the feed's row until the caller commits: that is what makes the feed gapless.
_NEXT = """
    INSERT INTO elicit_flows_feed (agent_id, position) {numbers}
    ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + excluded.position
    RETURNING position
"""
_INSERT = """
    INSERT INTO elicit_flows_event (position, id, agent_id, type, elicitation_id, seq, created_at, data)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
# PostgreSQL does all in one go, so that the lock is held for as short as can be.
_TOGETHER = """
    WITH {before} next AS ({next})
    INSERT INTO elicit_flows_event (position, id, agent_id, type, elicitation_id, seq, created_at, data)
    {events} RETURNING position"""
_EVENT = "SELECT next.position - %s::bigint, %s, %s::bigint, %s, %s, %s::int, %s::timestamptz, %s::jsonb FROM next"
# PostgreSQL sends the notification at commit. If there is Redis, the message goes there instead, after the commit.
_NOTIFY = ", pg_notify(%s, %s)"


def in_one_step() -> AbstractContextManager[Any]:
    """Around one write of this module: a transaction, unless there is one, or the write is a single statement (on
    PostgreSQL).
    """
    alone = connection.vendor == "postgresql" and not connection.in_atomic_block
    return nullcontext() if alone else transaction.atomic(savepoint=False)


def publish_created(agent: Agent, rows: Sequence[Elicitation]) -> None:
    """Store new elicitations of an agent, and tell of them, in one step."""
    told = [("elicitation.completed" if row.reused else "elicitation.created", row.snapshot(), row) for row in rows]
    with in_one_step():
        _write(agent, told, rows)
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias  # stored, as ``save`` marks it


def publish_changed(type: str, row: Elicitation, *updates: CompiledUpdate) -> bool:
    """Write ``updates``, the first of which made ``row`` what it now is, and tell of it, in one step. False, with
    nothing written, if not all of them find their row.
    """
    with in_one_step():
        return bool(_write(row.agent, [(type, row.snapshot(), row)], updates=updates))


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
    agent: Agent,
    told: Sequence[tuple[str, Json, Elicitation | None]],
    rows: Sequence[Model] = (),
    updates: Sequence[CompiledUpdate] = (),
) -> list[Event]:
    """Insert an agent's events at the next positions of its feed, their deliveries, and the new ``rows``, if all
    ``updates`` find what they update. No events: they did not, and nothing is written.

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
        rows = [*rows, *sent]
    own = connections[DEFAULT_DB_ALIAS]
    cells: list[list[Any]] = []
    for back, each in zip(range(len(events) - 1, -1, -1), events, strict=True):
        created = own.ops.adapt_datetimefield_value(each.created_at)
        cells.append(
            [back, each.id, agent.pk, each.type, each.elicitation_id, each.seq, created, json.dumps(each.data)]
        )
    write = _at_once if own.vendor == "postgresql" else _one_by_one
    last = write(agent, cells, [CompiledInsert.of(row) for row in rows], updates)
    if last is None:
        return []
    for back, event in enumerate(reversed(events)):
        event.position = last - back
    transaction.on_commit(partial(wakeups.wake, agent.pk, delivers))
    return events


def _at_once(
    agent: Agent, events: Sequence[list[Any]], inserts: Sequence[CompiledInsert], updates: Sequence[CompiledUpdate]
) -> int | None:
    """In one statement. The first update is made only if the others would find their rows, and all else only if it was
    made.

    ``events``: how far each is from the last one, and its other columns. Returns the last position.
    """
    before: list[str] = []
    given: list[Any] = []
    if updates:
        first, *others = updates
        before.append(f"changed AS ({' AND '.join([first.sql, *(each.exists for each in others)])} RETURNING 1)")
        given += [*first.values, *(value for each in others for value in each.compared)]
        for number, each in enumerate(others):
            before.append(f"other_{number} AS ({each.sql} AND EXISTS (SELECT FROM changed))")
            given += each.values
    source = " FROM changed" if updates else ""
    for number, insert in enumerate(inserts):
        before.append(f"beside_{number} AS ({insert.sql}{source})")
        given += insert.values
    channel = [] if settings.REDIS_URL else [wakeups.CHANNEL, wakeups.message(agent.pk)]
    sql = _TOGETHER.format(
        before="".join(f"{each}, " for each in before),
        next=_NEXT.format(numbers=f"SELECT %s::bigint, %s::bigint{source}"),
        events=" UNION ALL ".join([_EVENT] * len(events)),
    )
    given += [agent.pk, len(events), *(value for each in events for value in each), *channel]
    with prepared_cursor() as cursor:
        cursor.execute(sql + _NOTIFY * bool(channel), given)
        return max((position for position, *_ in cursor.fetchall()), default=None)


def _one_by_one(
    agent: Agent, events: Sequence[list[Any]], inserts: Sequence[CompiledInsert], updates: Sequence[CompiledUpdate]
) -> int | None:
    """In several statements, in the caller's transaction."""
    with prepared_cursor() as cursor:
        if updates:
            first, *others = updates
            sql = " AND ".join([first.sql, *(each.exists for each in others)])
            cursor.execute(sql, [*first.values, *(value for each in others for value in each.compared)])
            if not cursor.rowcount:
                return None
            for each in others:
                cursor.execute(each.sql, each.values)
        for insert in inserts:
            cursor.execute(insert.sql, insert.values)
        cursor.execute(_NEXT.format(numbers="VALUES (%s, %s)"), [agent.pk, len(events)])
        last = int(cursor.fetchone()[0])
        for back, *cells in events:
            cursor.execute(_INSERT, [last - back, *cells])
    return last
