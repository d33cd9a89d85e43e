"""Stripe Tax at Checkout: the tax is computed once the buyer has given an address (docs.stripe.com/tax/checkout)."""

from __future__ import annotations

from sandbox.stripe.errors import StripeError, unsimulated
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing

OFF: Thing = {"enabled": False, "liability": None, "provider": None, "status": None}
ASKED: Thing = {"enabled": True, "liability": {"account": None, "type": "self"}, "provider": "stripe"}
_ADDRESS = {
    "city": "Berlin",
    "country": "DE",
    "line1": "SANDBOX 1",
    "line2": None,
    "postal_code": "10115",
    "state": None,
}


def asked(shop: Shop, params: Thing, items: list[Thing]) -> Thing:
    """The session's ``automatic_tax``. Raises StripeError for what Stripe would refuse."""
    if not params.get("automatic_tax", {}).get("enabled"):
        return OFF
    if shop.store.tax_basis_points is None:
        sentence = (
            "You must have a valid origin address to enable automatic tax calculation in test mode. Visit "
            "https://dashboard.stripe.com/test/settings/tax to update it."
        )
        raise StripeError(400, sentence)
    if any(one["price"]["tax_behavior"] != "exclusive" for one in items):
        raise unsimulated("automatic_tax for prices whose tax_behavior is not exclusive")
    customer = shop.find("customer", params.get("customer"))
    updated = params.get("customer_update", {}).get("address") == "auto"
    if customer and not (customer["address"] or updated):
        sentence = (
            "Automatic tax calculation in Checkout requires a valid address on the Customer. Add a valid address to "
            "the Customer or set `customer_update[address]` to 'auto' to save the billing address entered in Checkout "
            "to the Customer."
        )
        raise StripeError(400, sentence, code="customer_tax_location_invalid")
    return ASKED | {"status": "requires_location_inputs"}


def compute(shop: Shop, session: Thing) -> None:
    """The buyer gives an address. Each line is rounded by itself. A buyer of the session may do it again."""
    if not session["automatic_tax"]["enabled"]:
        return
    for one in session["_items"]:
        one["amount_tax"] = (one["amount_subtotal"] * (shop.store.tax_basis_points or 0) + 5000) // 10_000
        one["amount_total"] = one["amount_subtotal"] + one["amount_tax"]
    tax = sum(one["amount_tax"] for one in session["_items"])
    session["amount_total"] = session["amount_subtotal"] + tax
    session["total_details"] = session["total_details"] | {"amount_tax": tax}
    session["automatic_tax"] = ASKED | {"status": "complete"}
    customer = shop.find("customer", session["customer"])
    if customer:
        customer["address"] = _ADDRESS
