"""Another price for a Stripe subscription (docs.stripe.com/billing/subscriptions/change-price)."""

from __future__ import annotations

from typing import Any

import stripe

from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.stripe import reading
from elicit_flows.kinds.payment.providers.stripe.client import plain


def make(stripe_client: stripe.StripeClient, subscription: str, amount: int) -> None:
    """Change what each period costs, unless it is that already, or the subscription has ended.

    Stripe charges the new price with the next invoice, because the interval stays and nothing is prorated. Raises
    Refused if the subscription is not one item, as our checkout made it: the rest of its price would stay.
    """
    found = plain(stripe_client.v1.subscriptions.retrieve(subscription), "id", "status", "items")
    items = found["items"].get("data") or []
    if found["status"] in reading.ENDED or reading.price(found) == amount:
        return
    if len(items) != 1 or items[0].get("quantity") != 1:
        raise Refused("not_one_item", "The subscription has other items at the payment provider.")
    price: dict[str, Any] = items[0]["price"]
    rhythm = {name: price["recurring"][name] for name in ("interval", "interval_count")}
    data: Any = {
        "currency": price["currency"],
        "product": reading.id_of(price["product"]),
        "recurring": rhythm,
        "unit_amount": amount,
    }
    change: Any = {"items": [{"id": items[0]["id"], "price_data": data}], "proration_behavior": "none"}
    stripe_client.v1.subscriptions.update(subscription, change)
