"""A subscription's invoices and their payments."""

from __future__ import annotations

from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id


def invoice(shop: Shop, subscription: Thing, amount: int, reason: str) -> Thing:
    """An open invoice of the current period. Nothing was attempted yet."""
    made = shop.put(blank(shop, subscription, amount) | {"billing_reason": reason})
    made["receipt_number"] = None
    subscription["latest_invoice"] = made["id"]
    return made


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
    found = shop.all("invoice")
    return [one for one in found if one["parent"]["subscription_details"]["subscription"] == subscription]


def blank(shop: Shop, subscription: Thing, amount: int) -> Thing:
    name, now = new_id("in"), shop.now
    zero = (
        *("amount_overpaid", "amount_paid", "amount_shipping", "attempt_count", "post_payment_credit_notes_amount"),
        *("pre_payment_credit_notes_amount", "starting_balance"),
    )
    details = {"metadata": subscription["metadata"], "subscription": subscription["id"]}
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
        "currency": subscription["currency"],
        "customer": subscription["customer"],
        "default_tax_rates": [],
        "discounts": [],
        "hosted_invoice_url": f"{shop.root}/c/receipt/{name}",
        "issuer": {"type": "self"},
        "lines": lines(subscription, name),
        "livemode": subscription["livemode"],
        "metadata": {},
        "parent": {"type": "subscription_details", "subscription_details": details, "quote_details": None},
        "payment_settings": {"default_mandate": None, "payment_method_options": None, "payment_method_types": None},
        "period_end": now,
        "period_start": now,
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


def lines(subscription: Thing, name: str) -> Thing:
    data = [line(subscription, one, name) for one in subscription["items"]["data"]]
    return {"object": "list", "data": data, "has_more": False, "url": f"/v1/invoices/{name}/lines"}


def line(subscription: Thing, item: Thing, name: str) -> Thing:
    amount = item["price"]["unit_amount"] * item["quantity"]
    return {
        "id": new_id("il"),
        "object": "line_item",
        "amount": amount,
        "currency": subscription["currency"],
        "description": subscription["description"],
        "discountable": True,
        "discounts": [],
        "invoice": name,
        "livemode": subscription["livemode"],
        "metadata": dict(subscription["metadata"]),
        "period": {"start": item["current_period_start"], "end": item["current_period_end"]},
        "quantity": item["quantity"],
        "subscription": subscription["id"],
        "subtotal": amount,
    }


def invoice_payment(shop: Shop, made: Thing, intent: Thing) -> Thing:
    return {
        "id": new_id("inpay"),
        "object": "invoice_payment",
        "amount_paid": made["amount_paid"],
        "amount_requested": made["amount_due"],
        "created": shop.now,
        "currency": made["currency"],
        "invoice": made["id"],
        "is_default": True,
        "livemode": made["livemode"],
        "payment": {"type": "payment_intent", "payment_intent": intent["id"]},
        "status": "paid",
        "status_transitions": {"canceled_at": None, "paid_at": shop.now},
    }
