"""Customers, so that a payer who comes back can be known by an id."""

from __future__ import annotations

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
    """The session's customer; a new one where the session is to make one."""
    if session["customer"] is None and needs_one(session):
        made = create(shop, {"email": session["customer_email"], "name": "SANDBOX Payer"})
        session["customer"] = made["id"]
        shop.emit("customer.created", made)
    customer: str | None = session["customer"]
    return customer


def needs_one(session: Thing) -> bool:
    """A subscription needs somebody to belong to; saved payment methods do as well."""
    keeps = session["_data"].get("setup_future_usage") is not None
    return session["mode"] == "subscription" or session["customer_creation"] == "always" or keeps
