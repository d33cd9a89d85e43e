"""What there is when all has come to rest, as lines of a history: what agents read, and what the provider did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2

from tests.payments.history.checker import Json
from tests.support.sink import Sink

AT_ONCE = 4
STATES = {"needs_response": "open", "under_review": "open", "won": "won", "lost": "lost"}


def pages(agent: httpx2.Client, path: str) -> Iterator[Json]:
    """Everything that is listed there."""
    cursor: str | None = ""
    while cursor is not None:
        page = answer(agent, path, limit=100, cursor=cursor)
        yield from page["data"]
        cursor = page["next_cursor"]


def feed(agent: httpx2.Client) -> Iterator[Json]:
    """All events of an agent, from the first."""
    cursor, found = "", [{}]
    while found:
        page = answer(agent, "/v1/events", limit=1000, after=cursor)
        found, cursor = page["data"], page["cursor"]
        yield from found


def answer(agent: httpx2.Client, path: str, **params: Any) -> Json:
    return dict(agent.get(path, params=params).raise_for_status().json())


def of_agent(agent: httpx2.Client, slug: str, ordered: Iterable[str] = ()) -> list[Json]:
    """How each elicitation ended, what was told of it, and the payments that are named anywhere.

    Refunds are asked for where any may be: of payments that the agent ``ordered`` some for, or was told of.
    """
    ended = list(pages(agent, "/v1/elicitations"))
    events = list(feed(agent))
    told = {one["data"]["payment"]["id"] for one in events if "payment" in one["data"]} | set(ordered)
    granted = list(pages(agent, "/v1/entitlements"))
    goes_on = [*of_mandates(agent), *of_subscriptions(agent)]
    told |= {line["charge"]["payment"] for line in goes_on if line["op"] == "charge"}
    named = (
        {one["result"]["payment"] for one in ended if "payment" in (one["result"] or {})}
        | told
        | {one["payment"] for one in granted}
        | {line["mandate"]["payment"] for line in goes_on if line["op"] == "mandate"}
    )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        payments = list(pool.map(lambda name: payment(agent, name, refunds=name in told), sorted(named)))
    return [
        *({"op": "ended", "elicitation": one} for one in ended),
        *({"op": "told", "by": "feed", "agent": slug, "event": one} for one in events),
        *({"op": "entitlement", "entitlement": one} for one in granted),
        *goes_on,
        *payments,
    ]


def of_mandates(agent: httpx2.Client) -> Iterator[Json]:
    for one in pages(agent, "/v1/mandates"):
        path = f"/v1/mandates/{one['id']}"
        yield {"op": "mandate", "mandate": answer(agent, path)}
        yield from ({"op": "charge", "charge": made} for made in pages(agent, f"{path}/charges"))


def of_subscriptions(agent: httpx2.Client) -> Iterator[Json]:
    for one in pages(agent, "/v1/subscriptions"):
        renewals = list(pages(agent, f"/v1/subscriptions/{one['id']}/renewals"))
        yield {"op": "subscription", "subscription": one, "renewals": renewals}


def payment(agent: httpx2.Client, id: str, *, refunds: bool) -> Json:
    found = list(pages(agent, f"/v1/payments/{id}/refunds")) if refunds else []
    return {"op": "payment", "payment": answer(agent, f"/v1/payments/{id}"), "refunds": found}


def of_provider(state: Json) -> Iterator[Json]:
    """``state``: the Stripe double's /_control/state."""
    bought = {one["id"]: one for one in state["subscriptions"]}
    bills = {one["id"]: one for one in state["invoices"]}
    billed = {one["payment"]["payment_intent"]: bills[one["invoice"]] for one in state["invoice_payments"]}
    for one in state["subscriptions"]:
        cancelled = one["cancel_at_period_end"]
        yield {"op": "subscribed", "about": one["description"], "status": one["status"], "cancelled": cancelled}
    for one in state["charges"]:
        if not one["paid"]:
            continue
        money = {name: one[name] for name in ("amount", "currency", "livemode")}
        bill = billed.get(one["payment_intent"])
        if bill is None:
            yield {"op": "captured", "charge": one["id"], "about": one["description"], **money}
            continue
        # Its charges have a description of Stripe's own.
        subscription = bought[bill["parent"]["subscription_details"]["subscription"]]
        op = "captured" if bill["billing_reason"] == "subscription_create" else "renewed"
        money["livemode"] = subscription["livemode"]
        yield {"op": op, "charge": one["id"], "about": subscription["description"], **money}
    for one in state["refunds"]:
        seen = {name: one[name] for name in ("charge", "amount", "status")}
        yield {"op": "returned", "refund": one["id"], **seen, "our_id": one["metadata"].get("our_id")}
    for one in state["disputes"]:
        yield {"op": "disputed", "charge": one["charge"], "state": STATES[one["status"]]}


def of_sink(sink: Sink, slugs: Iterable[str]) -> Iterator[Json]:
    """What came in over the agents' webhooks, whole: of a sender that was killed half a body may have come."""
    for slug in slugs:
        for one in sink.received(f"/{slug}"):
            if len(one.body) == int(one.headers["content-length"]):
                yield {"op": "told", "by": "webhook", "agent": slug, "event": one.event}
