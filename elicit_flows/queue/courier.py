"""Delivering webhooks: claim, send, record.

Signed by Standard Webhooks 1.0.0. A delivery is claimed by a lease with a fencing number, sent with no transaction
open, and marked after it was sent: at least once, with the same id, until 75 hours have passed.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from standardwebhooks import Webhook

from elicit_flows.errors import Unavailable
from elicit_flows.lib import clock, http, tally, tracing
from elicit_flows.models import Agent, Delivery
from elicit_flows.queue import bell
from elicit_flows.queue.publish import publish
from elicit_flows.values import Json, Secret

log = logging.getLogger(__name__)

# Seconds before each try; together 75 h 35 min 5 s.
SCHEDULE = (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
LEASE = timedelta(seconds=60)  # four times the deadline of one try
DEADLINE = 15.0
MAX_RETRY_AFTER = timedelta(hours=24)
DISABLE_AFTER_GONE = 410

# Nearly every try ends so: as one text that nobody has to make anew.
_DELIVERED = """
    UPDATE elicit_flows_delivery SET status = 'delivered', tries = tries + 1, lease_until = NULL, delivered_at = %s,
        log = %s
    WHERE id = %s AND fence = %s AND status = 'pending'
"""
_ALL_DELIVERED = """
    UPDATE elicit_flows_delivery AS d SET status = 'delivered', tries = d.tries + 1, lease_until = NULL,
        delivered_at = %s, log = sent.log::jsonb
    FROM unnest(%s::text[], %s::int[], %s::text[]) AS sent (id, fence, log)
    WHERE d.id = sent.id AND d.fence = sent.fence AND d.status = 'pending' RETURNING d.id
"""
Due = tuple[str, int, int]  # a delivery's id, its agent's, and how often that one's endpoint failed in a row


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one try met. ``status`` is the HTTP status, or None when there was no answer."""

    ok: bool
    status: int | None
    note: str
    milliseconds: int
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """A delivery made ready: sending it needs no database."""

    delivery: Delivery
    url: str
    headers: dict[str, str]
    body: bytes


def claim(limit: int, busy: Mapping[int, int], per_endpoint: int, *, failing: bool) -> list[Delivery]:
    """Lease up to ``limit`` due deliveries; ``busy`` counts what is in flight for each agent, by its pk.

    No endpoint gets more than ``per_endpoint`` at a time, one that is failing gets one; ``failing`` says whether there
    is room for such at all.
    """
    now = clock.now()
    with transaction.atomic():
        due = _due(now, busy, per_endpoint, failing=failing)[: limit * 4]
        chosen = _fair(due, limit, dict(busy), per_endpoint)
        if chosen:
            Delivery.objects.filter(pk__in=chosen).update(fence=F("fence") + 1, lease_until=now + LEASE)
    rows = Delivery.objects.select_related("agent", "event").in_bulk(chosen) if chosen else {}
    return [rows[pk] for pk in chosen]


def _due(now: datetime, busy: Mapping[int, int], per_endpoint: int, *, failing: bool) -> QuerySet[Delivery, Due]:
    """What may be sent now, oldest first: only what the choice needs of it, since most are left for later."""
    full = [agent for agent, count in busy.items() if count >= per_endpoint]
    due = (
        Delivery.objects.filter(Q(lease_until=None) | Q(lease_until__lte=now), status="pending", next_at__lte=now)
        .filter(agent__webhook_disabled_at=None, agent__enabled=True)
        .exclude(agent_id__in=full)
        .exclude(agent_id__in=list(busy), agent__webhook_failures__gt=0)
        .order_by("next_at")
    )
    if not failing:
        due = due.filter(agent__webhook_failures=0)
    if connection.features.has_select_for_update_skip_locked:
        due = due.select_for_update(skip_locked=True, of=("self",))
    return due.values_list("pk", "agent_id", "agent__webhook_failures")


def _fair(due: Iterable[Due], limit: int, busy: dict[int, int], per_endpoint: int) -> list[str]:
    chosen: list[str] = []
    for pk, agent_id, failures in due:
        room = 1 if failures else per_endpoint
        if busy.get(agent_id, 0) < room and len(chosen) < limit:
            busy[agent_id] = busy.get(agent_id, 0) + 1
            chosen.append(pk)
    return chosen


def prepare(delivery: Delivery, secrets: list[Secret]) -> Parcel:
    """The event's body and its signature of this moment: each try is signed anew, under the same id.

    Raises Unavailable when there is nothing to sign with: a receiver that takes one unsigned event takes any.
    """
    if not secrets:
        raise Unavailable("The agent has no webhook secret to sign with.")
    body = json.dumps(delivery.event.body(), separators=(",", ":"), ensure_ascii=False)
    return Parcel(delivery, delivery.agent.webhook_url, signed(delivery.event_id, body, secrets), body.encode())


def send(parcel: Parcel) -> Outcome:
    """One try. Redirects are failures, as Standard Webhooks wants."""
    began = time.monotonic()
    try:
        with tracing.span(
            "elicit.webhook", parcel.delivery.trace, kind="producer", elicit_event=parcel.delivery.event_id
        ):
            reply = http.send("POST", parcel.url, headers=_headers(parcel), body=parcel.body, deadline=DEADLINE)
    except (http.Refused, http.Unreachable) as error:
        return Outcome(False, None, str(error)[:200], _since(began))
    ok = 200 <= reply.status < 300
    return Outcome(ok, reply.status, "", _since(began), None if ok else _retry_after(reply))


def _headers(parcel: Parcel) -> dict[str, str]:
    """With what makes the agent's own work on it part of the trace (W3C Trace Context)."""
    present = tracing.current()
    return {**parcel.headers, tracing.HEADER: present} if present else parcel.headers


def signed(event_id: str, body: str, secrets: list[Secret]) -> dict[str, str]:
    """Standard Webhooks headers, one signature for each secret that is valid now."""
    now = clock.now()
    signatures = [Webhook(secret.reveal()).sign(event_id, now, body) for secret in secrets]
    return {
        "content-type": "application/json",
        "user-agent": "elicit-flows",
        "webhook-id": event_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def record_all(sent: Sequence[tuple[Delivery, Outcome]]) -> None:
    """Write what happened to each. What endpoints in good health took, which is nearly all, goes in one statement."""
    well = [(delivery, outcome) for delivery, outcome in sent if outcome.ok and not delivery.agent.webhook_failures]
    if well:
        now = clock.now()
        rows = [(delivery.pk, delivery.fence, json.dumps(_log(delivery, outcome, now))) for delivery, outcome in well]
        ours = _delivered(rows, connection.ops.adapt_datetimefield_value(now))
        for pk, _, _ in rows:
            if pk not in ours:
                _conflict(pk)
        tally.count("deliveries", "delivered", by=len(ours))
    for delivery, outcome in sent:
        if not outcome.ok or delivery.agent.webhook_failures:
            record(delivery, outcome)


def _delivered(rows: list[tuple[str, int, str]], at: str | None) -> set[str]:
    """Mark these (id, fence, log) as delivered; the ids of those whose lease still held."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_ALL_DELIVERED, [at, *map(list, zip(*rows, strict=True))])
            return {pk for (pk,) in cursor.fetchall()}
    with transaction.atomic(), connection.cursor() as cursor:
        return {pk for pk, fence, log in rows if cursor.execute(_DELIVERED, [at, log, pk, fence]).rowcount}


def _log(delivery: Delivery, outcome: Outcome, now: datetime) -> list[Json]:
    """The delivery's last twenty tries, this one included."""
    entry = {
        "at": clock.rfc3339(now),
        "status": outcome.status,
        "note": outcome.note,
        "milliseconds": outcome.milliseconds,
    }
    return [*delivery.log, entry][-20:]


def _conflict(pk: str) -> None:
    log.warning("lease_conflict: delivery %s was taken over while it was being sent", pk)


def record(delivery: Delivery, outcome: Outcome) -> bool:
    """Write what happened. False when the lease was lost meanwhile: somebody else's record stands."""
    now, tries = clock.now(), delivery.tries + 1
    change: dict[str, object] = {"tries": tries, "log": _log(delivery, outcome, now), "lease_until": None}
    if outcome.ok:
        change |= {"status": "delivered", "delivered_at": now}
    elif tries >= len(SCHEDULE):
        change |= {"status": "failed"}
    else:
        change |= {"next_at": now + max(timedelta(seconds=SCHEDULE[tries]), outcome.retry_after or timedelta())}
    with transaction.atomic():
        mine = Delivery.objects.filter(pk=delivery.pk, fence=delivery.fence, status="pending").update(**change)
        if mine:
            _note_endpoint(delivery.agent, outcome)
    if mine:
        tally.count("deliveries", str(change.get("status", "tried")))
    else:
        _conflict(delivery.pk)
    return mine == 1


def _note_endpoint(agent: Agent, outcome: Outcome) -> None:
    """Keep the endpoint's streak of failures; an endpoint that answers 410 Gone wants no more."""
    row = Agent.objects.filter(pk=agent.pk)
    if outcome.ok:
        if agent.webhook_failures:
            row.update(webhook_failures=0)
        return
    row.update(webhook_failures=F("webhook_failures") + 1)
    if outcome.status == DISABLE_AFTER_GONE and row.filter(webhook_disabled_at=None).update(
        webhook_disabled_at=clock.now()
    ):
        agent.webhook_disabled_at = clock.now()
        Delivery.objects.filter(agent=agent, status="pending").update(status="failed", lease_until=None)
        publish(agent, "webhook.disabled", {"url": agent.webhook_url, "reason": "The endpoint answered 410 Gone."})
        log.error("webhook of agent %s answered 410 Gone and is disabled", agent.slug)


def _retry_after(reply: http.Reply) -> timedelta | None:
    """Retry-After in seconds, as 429 and 503 send it; dates are left to the schedule."""
    text = reply.headers.get("retry-after", "")
    return min(timedelta(seconds=int(text[:9])), MAX_RETRY_AFTER) if text.isdecimal() else None


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def replay(delivery: Delivery) -> None:
    """Begin the schedule anew. What is being sent now is fenced off; an endpoint that was disabled is enabled."""
    with transaction.atomic():
        Delivery.objects.filter(pk=delivery.pk).update(
            status="pending", tries=0, next_at=clock.now(), lease_until=None, delivered_at=None, fence=F("fence") + 1
        )
        Agent.objects.filter(pk=delivery.agent_id).update(webhook_disabled_at=None, webhook_failures=0)
        transaction.on_commit(partial(bell.ring_workers, bell.Work.DELIVER))
    delivery.refresh_from_db()
