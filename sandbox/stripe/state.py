"""Everything that tests may look at, as one JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sandbox.stripe.acts import tried
from sandbox.stripe.double import Double
from sandbox.stripe.shop import shown

SHOWN = {
    "sessions": "checkout.session",
    "payment_intents": "payment_intent",
    "charges": "charge",
    "refunds": "refund",
    "disputes": "dispute",
    "subscriptions": "subscription",
    "invoices": "invoice",
    "invoice_payments": "invoice_payment",
    "customers": "customer",
    "payment_methods": "payment_method",
    "events": "event",
}


def state(double: Double) -> dict[str, Any]:
    """Objects, oldest first, each with ``_account``; requests and deliveries in order of arrival."""
    with double.store.lock:
        things = {name: everything(double, kind) for name, kind in SHOWN.items()}
        return {
            "sandbox": True,
            "now": double.store.now(),
            "offset": double.store.offset,
            "accounts": [{"id": one.id, "platform": one.platform} for one in double.store.accounts.values()],
            **things,
            "requests": [one.shown() for one in double.seen],
            "deliveries": [tried(one) for one in double.sender.deliveries],
            "weather": asdict(double.sender.weather),
            "faults": [asdict(one) for one in double.faults.waiting],
            "bent": double.bent,
        }


def everything(double: Double, kind: str) -> list[dict[str, Any]]:
    found = [
        shown(thing) | {"_account": account}
        for account in double.store.accounts
        for thing in double.store.all(account, kind)
    ]
    return found[::-1]
