"""Deliveries: written in bulk, delivered as a worker delivers them, or just posted with no database."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from django.db import transaction

from elicit_flows import http, vault
from elicit_flows.domain.values import Secret
from elicit_flows.events import webhooks
from elicit_flows.jobs import worker
from elicit_flows.lib import clock, ids
from elicit_flows.models import Agent, Delivery, Elicitation, Event, Feed, IdentityProvider

THREADS = 64
MESSAGE = "Connect Drive so that I can list your files."


def hooked(count: int, url: str, key: str) -> list[int]:
    """Agents whose webhooks go to ``url`` (%d is the agent's number); their primary keys."""
    first = IdentityProvider.objects.get()
    made = []
    for number in range(count):
        agent = Agent(
            slug=f"hooked-{number}", name="Hooked", key_hash=ids.digest(key % number), webhook_url=url % number
        )
        vault.seal_webhook_secret(agent, Secret("whsec_" + "B" * 43 + "="))
        agent.save()
        agent.identity_providers.add(first)
        made.append(agent.pk)
    return made


def pending(agents: list[int], count: int) -> None:
    """``count`` deliveries that are due, one after the other to each of the agents."""
    now, issuer = clock.now(), IdentityProvider.objects.get().issuer
    asked = Elicitation(agent_id=agents[0], kind="oauth", iss=issuer, sub="user", message=MESSAGE, expires_at=now)
    asked.params = {"provider": "drive", "scopes": ["files.read"]}
    data = asked.snapshot()
    with transaction.atomic():
        feeds = {pk: Feed.objects.get_or_create(agent_id=pk)[0] for pk in agents}
        events = []
        for number in range(count):
            feed = feeds[agents[number % len(agents)]]
            feed.position += 1
            events.append(Event(agent_id=feed.pk, position=feed.position, type="elicitation.created", data=data))
        Event.objects.bulk_create(events, batch_size=500)
        Delivery.objects.bulk_create([Delivery(agent_id=e.agent_id, event=e) for e in events], batch_size=500)
        Feed.objects.bulk_update(feeds.values(), ["position"])


def fill(agents: list[int]) -> None:
    """As much for each of these as may be under way to one endpoint."""
    pending(agents, len(agents) * worker.PER_ENDPOINT)


def deliver() -> float:
    """Seconds that a worker takes to deliver everything that is due."""
    began = time.perf_counter()
    worker.until_idle(worker.WebhookDeliveries(), 120.0)
    return time.perf_counter() - began


def undelivered() -> int:
    return Delivery.objects.exclude(status="delivered").count()


def post(agents: list[int], count: int) -> float:
    """Seconds that the synchronous client takes to post the same bytes from THREADS threads, to the same endpoints."""
    parcels = _parcels(agents)
    began = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        replies = list(pool.map(_post, (parcels[number % len(parcels)] for number in range(count))))
    took = time.perf_counter() - began
    assert set(replies) == {200}
    return took


def post_from_a_loop(agents: list[int], count: int) -> float:
    """Seconds that the worker's own client takes to post them, as many at a time as a worker."""
    parcels = _parcels(agents)
    began = time.perf_counter()
    statuses = asyncio.run(_post_all([parcels[number % len(parcels)] for number in range(count)]))
    took = time.perf_counter() - began
    assert statuses == {200}
    return took


def _parcels(agents: list[int]) -> list[webhooks.WebhookRequest]:
    pending(agents, len(agents))
    samples = list(Delivery.objects.select_related("agent", "event").order_by("-pk")[: len(agents)])
    parcels = [webhooks.prepare(one, vault.webhook_secrets(one.agent)) for one in samples]
    Delivery.objects.filter(pk__in=[one.pk for one in samples]).delete()
    return parcels


def _post(parcel: webhooks.WebhookRequest) -> int:
    reply = http.send("POST", parcel.url, headers=parcel.headers, body=parcel.body, deadline=webhooks.DEADLINE)
    return reply.status


async def _post_all(parcels: list[webhooks.WebhookRequest]) -> set[int]:
    client, left = http.AsyncClient(), iter(parcels)

    async def some() -> set[int]:
        replies = [
            await client.send("POST", one.url, headers=one.headers, body=one.body, deadline=webhooks.DEADLINE)
            for one in left
        ]
        return {reply.status for reply in replies}

    found = await asyncio.gather(*(some() for _ in range(worker.IN_FLIGHT)))
    client.close()
    return set().union(*found)


def calm() -> None:
    """Nothing is due, no endpoint has failed."""
    Delivery.objects.filter(status="pending").delete()
    Agent.objects.update(webhook_failures=0, webhook_disabled_at=None)
