"""Invoices of subscriptions and of paid sessions, and their payments."""

from __future__ import annotations

from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id


def invoice(shop: Shop, subscription: Thing, amount: int, reason: str) -> Thing:
    """An open invoice of the current period. Nothing was attempted yet."""
    details = {"metadata": subscription["metadata"], "subscription": subscription["id"]}
    parent = {"type": "subscription_details", "subscription_details": details, "quote_details": None}
    data = [line(subscription, one) for one in subscription["items"]["data"]]
    made = shop.put(blank(shop, subscription, amount, data) | {"billing_reason": reason, "parent": parent})
    subscription["latest_invoice"] = made["id"]
    return made


def of_session(shop: Shop, session: Thing, intent: Thing) -> None:
    """The paid invoice that a session makes of a one-time payment
    (docs.stripe.com/payments/checkout/post-payment-invoices).
    """
    if not session["invoice_creation"]["enabled"]:
        return
    data = [
        line_item(session, one["description"], one["amount_subtotal"], one["quantity"], (shop.now, shop.now))
        for one in session["_items"]
    ]
    more = {"billing_reason": "manual", "metadata": session["invoice_creation"]["invoice_data"]["metadata"] or {}}
    made = shop.put(blank(shop, session, session["amount_total"], data) | more)
    session["invoice"] = made["id"]
    paid(shop, made, intent)


def paid(shop: Shop, made: Thing, intent: Thing | None) -> Thing:
    """The invoice is paid by this intent; None: there was nothing to pay."""
    made |= {"status": "paid", "amount_paid": made["amount_due"], "amount_remaining": 0, "attempted": True}
    made["attempt_count"] += 1 if intent else 0
    made["status_transitions"] |= {"paid_at": shop.now}
    if intent:
        shop.put(invoice_payment(shop, made, intent))
    shop.emit("invoice.paid", made)
    return made


def refused(shop: Shop, made: Thing) -> Thing:
    """The bank refused it. It stays open, and can be paid later."""
    made |= {"attempted": True, "attempt_count": made["attempt_count"] + 1}
    shop.emit("invoice.payment_failed", made)
    return made


def of(shop: Shop, subscription: str) -> list[Thing]:
    """Its invoices, newest first."""
    parents = ((one, one["parent"]) for one in shop.all("invoice"))
    return [one for one, of in parents if of and of["subscription_details"]["subscription"] == subscription]


def blank(shop: Shop, of: Thing, amount: int, data: list[Thing]) -> Thing:
    """``of``: a subscription or a session."""
    name, now = new_id("in"), shop.now
    zero = (
        *("amount_overpaid", "amount_paid", "amount_shipping", "attempt_count", "post_payment_credit_notes_amount"),
        *("pre_payment_credit_notes_amount", "starting_balance"),
    )
    for one in data:
        one["invoice"] = name
    return dict.fromkeys(zero, 0) | {
        "id": name,
        "object": "invoice",
        "amount_due": amount,
        "amount_remaining": amount,
        "attempted": False,
        "automatic_tax": {
            "disabled_reason": None,
            "enabled": False,
            "liability": None,
            "provider": None,
            "status": None,
        },
        "collection_method": "charge_automatically",
        "created": now,
        "currency": of["currency"],
        "customer": of["customer"],
        "default_tax_rates": [],
        "discounts": [],
        "hosted_invoice_url": f"{shop.root}/c/receipt/{name}",
        "invoice_pdf": f"{shop.root}/c/receipt/{name}?pdf",
        "issuer": {"type": "self"},
        "lines": {"object": "list", "data": data, "has_more": False, "url": f"/v1/invoices/{name}/lines"},
        "livemode": of["livemode"],
        "metadata": {},
        "parent": None,
        "payment_settings": {"default_mandate": None, "payment_method_options": None, "payment_method_types": None},
        "period_end": now,
        "period_start": now,
        "receipt_number": None,
        "status": "open",
        "status_transitions": {
            "finalized_at": now,
            "marked_uncollectible_at": None,
            "paid_at": None,
            "voided_at": None,
        },
        "subtotal": amount,
        "total": amount,
    }


def line(subscription: Thing, item: Thing) -> Thing:
    amount, period = (
        item["price"]["unit_amount"] * item["quantity"],
        (item["current_period_start"], item["current_period_end"]),
    )
    made = line_item(subscription, subscription["description"], amount, item["quantity"], period)
    return made | {"subscription": subscription["id"]}


def line_item(of: Thing, description: str | None, amount: int, quantity: int, period: tuple[int, int]) -> Thing:
    """``invoice`` is filled in later."""
    return {
        "id": new_id("il"),
        "object": "line_item",
        "amount": amount,
        "currency": of["currency"],
        "description": description,
        "discountable": True,
        "discounts": [],
        "invoice": None,
        "livemode": of["livemode"],
        "metadata": dict(of["metadata"]),
        "period": {"start": period[0], "end": period[1]},
        "quantity": quantity,
        "subscription": None,
        "subtotal": amount,
    }


def invoice_payment(shop: Shop, made: Thing, intent: Thing) -> Thing:
    return {
        "id": new_id("inpay"),
        "object": "invoice_payment",
        "amount_paid": made["amount_paid"],
        "amount_requested": made["amount_due"],
        "created": made["created"],  # Stripe makes it with the invoice, before the first attempt
        "currency": made["currency"],
        "invoice": made["id"],
        "is_default": True,
        "livemode": made["livemode"],
        "payment": {"type": "payment_intent", "payment_intent": intent["id"]},
        "status": "paid",
        "status_transitions": {"canceled_at": None, "paid_at": shop.now},
    }
