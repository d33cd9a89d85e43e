"""Delivers webhooks: claim, send, record.

They are signed as in Standard Webhooks 1.0.0. A delivery is claimed by a lease with a fencing number, sent with no
transaction open, and marked after it was sent. So it is sent at least once, always with the same id, and it is retried
for 75 hours.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import connection, transaction
from django.db.models import F
from standardwebhooks import Webhook

from elicit_flows import http
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Json, Secret
from elicit_flows.events import wakeups
from elicit_flows.events.publish import publish
from elicit_flows.job_table import DELIVER
from elicit_flows.lib import clock, counters, telemetry
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.lib.compiled_query import CompiledQuery, prepared_cursor
from elicit_flows.models import Agent, Delivery, leases
from elicit_flows.models.backlog import Backlog, Party

log = logging.getLogger(__name__)

# Together 75 h 35 min 5 s.
SCHEDULE = RetrySchedule.of_seconds(0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
LEASE = DELIVER.lease  # four times the deadline of one try
DEADLINE = 15.0
MAX_RETRY_AFTER = timedelta(hours=24)
DISABLE_AFTER_GONE = 410

# Nearly every attempt ends like this, so the SQL is fixed and Django does not write it again each time.
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
_CHOSEN = CompiledQuery(lambda ids: Delivery.objects.select_related("agent", "event").filter(pk__among=ids), ["dl"])
BACKLOG = Backlog("elicit_flows_delivery", ("agent_id",), "next_at", "lease_until", "status = 'pending'")
# The agents with pending deliveries, and how often their endpoint failed in a row.
_RECEIVERS = """
    SELECT id, webhook_failures FROM elicit_flows_agent
    WHERE enabled AND webhook_disabled_at IS NULL AND id IN ({parties})
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt. ``status`` is the HTTP status, or None if there was no answer."""

    ok: bool
    status: int | None
    note: str
    milliseconds: int
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A prepared delivery. Sending it needs no database."""

    delivery: Delivery
    url: str
    headers: dict[str, str]
    body: bytes


CameBack = Callable[[Delivery, Outcome | None], None]


def claim(limit: int, busy: Mapping[int, int], per_endpoint: int, *, failing: bool) -> list[Delivery]:
    """Lease up to ``limit`` due deliveries. ``busy``: how many are in flight for each agent, by its primary key.

    An endpoint gets at most ``per_endpoint`` at a time, a failing endpoint only one. ``failing``: whether there is room
    for failing endpoints at all.
    """
    # How many more deliveries each of these agents may get now.
    with prepared_cursor() as cursor:
        cursor.execute(_RECEIVERS.format(parties=BACKLOG.parties))
        receivers = cursor.fetchall()
    rooms: dict[Party, int] = {}
    for agent_id, failures in receivers:
        if failures and not failing:
            continue
        room = (1 if failures else per_endpoint) - busy.get(agent_id, 0)
        if room > 0:
            rooms[agent_id,] = room
    until = connection.ops.adapt_datetimefield_value(clock.now() + LEASE)
    chosen = BACKLOG.claim(rooms, limit, "fence = t.fence + 1, lease_until = %s", [until])
    return sorted(_CHOSEN.all(chosen), key=lambda delivery: delivery.next_at) if chosen else []


def prepare(delivery: Delivery, secrets: list[Secret]) -> WebhookRequest:
    """The request for one attempt. Each attempt is signed again, with the same id, once for each secret that is valid
    now (Standard Webhooks).

    Raises Unavailable if the agent's URL was removed meanwhile, or if there is no secret to sign with: a receiver that
    accepts one unsigned event accepts any.
    """
    if not delivery.agent.webhook_url:
        raise Unavailable("The agent no longer has a webhook URL.")
    if not secrets:
        raise Unavailable("The agent has no webhook secret to sign with.")
    body = json.dumps(delivery.event.body(), separators=(",", ":"), ensure_ascii=False)
    now = clock.now()
    signatures = [Webhook(secret.reveal()).sign(delivery.event_id, now, body) for secret in secrets]
    headers = {
        "content-type": "application/json",
        "user-agent": "elicit-flows",
        "webhook-id": delivery.event_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
    return WebhookRequest(delivery, delivery.agent.webhook_url, headers, body.encode())


class Sender:
    """Sends from one event loop in a thread of its own. A delivery that hangs takes a connection, and no thread.

    ``came_back`` is called once for each delivery, in the loop's thread; its outcome is None if it is not known.
    """

    def __init__(self, came_back: CameBack) -> None:
        self._came_back = came_back
        self._loop = asyncio.new_event_loop()
        self._under_way: set[asyncio.Task[None]] = set()
        self._client = http.AsyncClient()
        self._thread = threading.Thread(target=self._loop.run_forever, name="send", daemon=True)
        self._thread.start()

    def start(self, requests: Sequence[WebhookRequest]) -> None:
        """Returns at once."""
        self._loop.call_soon_threadsafe(self._start, requests)

    def _start(self, requests: Sequence[WebhookRequest]) -> None:
        for request in requests:
            task = self._loop.create_task(self._send(request))
            self._under_way.add(task)
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        error = None if task.cancelled() else task.exception()
        if error:
            log.error("a delivery failed unexpectedly; it is repeated when its lease has ended", exc_info=error)

    async def _send(self, request: WebhookRequest) -> None:
        """Make one attempt. Redirects are failures, as in Standard Webhooks."""
        delivery, outcome, began = request.delivery, None, time.monotonic()
        try:
            with telemetry.span("elicit.webhook", delivery.trace, kind="producer", elicit_event=delivery.event_id):
                # This header makes the agent's own work part of the trace (W3C Trace Context).
                present = telemetry.current()
                reply = await self._client.send(
                    "POST",
                    request.url,
                    headers={**request.headers, telemetry.HEADER: present} if present else request.headers,
                    body=request.body,
                    deadline=DEADLINE,
                )
            ok = 200 <= reply.status < 300
            milliseconds = round((time.monotonic() - began) * 1000)
            text = "" if ok else reply.headers.get("retry-after", "")  # in seconds; a date is ignored
            wanted = min(timedelta(seconds=int(text[:9])), MAX_RETRY_AFTER) if text.isdecimal() else None
            outcome = Outcome(ok, reply.status, "", milliseconds, wanted)
        except (http.Refused, http.Unreachable) as error:
            outcome = Outcome(False, None, str(error)[:200], round((time.monotonic() - began) * 1000))
        finally:
            self._came_back(delivery, outcome)

    def close(self) -> None:
        """Wait for the sends under way, and end."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _end(self) -> None:
        while self._under_way:
            await asyncio.wait(self._under_way)
        self._client.close()
        await asyncio.sleep(0)  # the loop closes the connections


def record_all(sent: Sequence[tuple[Delivery, Outcome]]) -> None:
    """Record the outcome of each. One statement records all successes of endpoints that did not fail before."""
    well = [(delivery, outcome) for delivery, outcome in sent if outcome.ok and not delivery.agent.webhook_failures]
    if well:
        now = clock.now()
        rows = [(delivery.pk, delivery.fence, json.dumps(_log(delivery, outcome, now))) for delivery, outcome in well]
        at = connection.ops.adapt_datetimefield_value(now)
        if connection.vendor == "postgresql":
            with prepared_cursor() as cursor:
                cursor.execute(_ALL_DELIVERED, [at, *map(list, zip(*rows, strict=True))])
                ours = {pk for (pk,) in cursor.fetchall()}
        else:
            with transaction.atomic(), connection.cursor() as cursor:
                ours = {pk for pk, fence, log in rows if cursor.execute(_DELIVERED, [at, log, pk, fence]).rowcount}
        for pk, _, _ in rows:  # if the lease was no longer held, nothing was written
            if pk not in ours:
                _conflict(pk)
        counters.count("deliveries", "delivered", by=len(ours))
    for delivery, outcome in sent:
        if not outcome.ok or delivery.agent.webhook_failures:
            record(delivery, outcome)


def _log(delivery: Delivery, outcome: Outcome, now: datetime) -> list[Json]:
    """The delivery's last twenty attempts, including this one."""
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
    """Record the outcome. False if the lease was lost meanwhile: then nothing is written."""
    now, tries = clock.now(), delivery.tries + 1
    change: dict[str, object] = {"tries": tries, "log": _log(delivery, outcome, now), "lease_until": None}
    if outcome.ok:
        change |= {"status": "delivered", "delivered_at": now}
    elif SCHEDULE.is_used_up(tries) or not delivery.agent.webhook_url:
        change |= {"status": "failed"}
    else:
        change |= {"next_at": now + max(SCHEDULE.pause(tries), outcome.retry_after or timedelta())}
    with transaction.atomic():
        mine = leases.held(delivery, "fence").filter(status="pending").update(**change)
        if mine:
            _note_endpoint(delivery.agent, outcome)
    if mine:
        counters.count("deliveries", str(change.get("status", "tried")))
    else:
        _conflict(delivery.pk)
    return mine == 1


def _note_endpoint(agent: Agent, outcome: Outcome) -> None:
    """Count the endpoint's failures in a row. An endpoint that answers 410 Gone is disabled."""
    if not agent.webhook_url:
        return
    # An attempt may end after the agent got another URL: its outcome says nothing about that one.
    row = Agent.objects.filter(pk=agent.pk, webhook_url=agent.webhook_url)
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


def replay(delivery: Delivery) -> None:
    """Start the schedule again. An attempt under way records nothing; a disabled endpoint is enabled."""
    with transaction.atomic():
        Delivery.objects.filter(pk=delivery.pk).update(
            status="pending", tries=0, next_at=clock.now(), lease_until=None, delivered_at=None, fence=F("fence") + 1
        )
        Agent.objects.filter(pk=delivery.agent_id).update(webhook_disabled_at=None, webhook_failures=0)
        transaction.on_commit(partial(wakeups.wake_workers, DELIVER))
    delivery.refresh_from_db()
