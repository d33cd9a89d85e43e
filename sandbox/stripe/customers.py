"""Customers, so that a returning payer has the same id."""

from __future__ import annotations

from sandbox.stripe.errors import StripeError
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

KIND = "customer"


def create(shop: Shop, params: Thing) -> Thing:
    nothing = ("address", "currency", "default_source", "discount", "phone", "shipping", "test_clock")
    return shop.put(
        dict.fromkeys(nothing)
        | {
            "id": new_id("cus"),
            "object": KIND,
            "balance": 0,
            "created": shop.now,
            "delinquent": False,
            "description": params.get("description"),
            "email": params.get("email"),
            "invoice_prefix": "SANDBOX",
            "livemode": False,
            "metadata": params.get("metadata", {}),
            "name": params.get("name"),
            "preferred_locales": [],
            "tax_exempt": "none",
        }
    )


def of_session(shop: Shop, session: Thing) -> str | None:
    """The session's customer; a new one if the session creates one."""
    if session["customer"] is None and needs_one(session):
        made = create(shop, {"email": session["customer_email"], "name": "SANDBOX Payer"})
        session["customer"] = made["id"]
        shop.emit("customer.created", made)
    customer: str | None = session["customer"]
    return customer


def detach(shop: Shop, method: Thing) -> Thing:
    """Detach it, so that the customer cannot be charged with it. Raises StripeError if it is not attached."""
    if method["customer"] is None:
        sentence = "The payment method you provided is not attached to a customer so detachment is impossible."
        raise StripeError(400, sentence, code="payment_method_unexpected_state")
    before = {"customer": method["customer"]}
    method["customer"] = None
    shop.emit("payment_method.detached", method, before)
    return method


def needs_one(session: Thing) -> bool:
    """Whether the session needs a customer: subscriptions and saved payment methods do."""
    keeps = session["_data"].get("setup_future_usage") is not None
    billed = session["invoice_creation"]["enabled"]
    return session["mode"] == "subscription" or session["customer_creation"] == "always" or keeps or billed
