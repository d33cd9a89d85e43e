"""Refunds: by the API, from the dashboard, and by a dispute."""

from __future__ import annotations

from sandbox.stripe import application_fees, balance
from sandbox.stripe.errors import StripeError, invalid, required
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

KIND = "refund"


def create(shop: Shop, params: Thing, status: str = "succeeded") -> Thing:
    """``status`` pending: the bank decides later, see ``finish``. Raises StripeError if it is too much."""
    charge = charge_of(shop, params)
    left = charge["amount"] - charge["amount_refunded"]
    amount = params.get("amount", left)
    check(charge, left, amount)
    if params.get("refund_application_fee"):
        application_fees.give_back(charge)
    charge["amount_refunded"] += amount
    charge["refunded"] = charge["amount_refunded"] == charge["amount"]
    refund = shop.put(blank(shop, charge, amount, params) | {"status": status})
    refund["balance_transaction"] = balance.refunded(shop, refund)
    shop.emit("refund.created", refund)
    shop.emit("charge.refunded", charge)
    return refund


def charge_of(shop: Shop, params: Thing) -> Thing:
    """The charge, or the charge of the PaymentIntent."""
    if "charge" in params:
        return shop.get("charge", params["charge"], "charge")
    if "payment_intent" not in params:
        raise required("payment_intent")
    intent = shop.get("payment_intent", params["payment_intent"], "payment_intent")
    if intent["latest_charge"] is None:
        sentence = f"This PaymentIntent ({intent['id']}) does not have a successful charge to refund."
        raise StripeError(400, sentence, param="payment_intent", kept=True)
    return shop.get("charge", intent["latest_charge"])


def check(charge: Thing, left: int, amount: int) -> None:
    if charge["status"] != "succeeded":
        raise StripeError(400, f"Charge {charge['id']} has not succeeded: there is nothing to refund.", kept=True)
    if charge["disputed"] and not charge.get("_refundable", False):
        code = "charge_disputed"
        raise StripeError(400, f"Charge {charge['id']} has been charged back.", code=code, kept=True)
    if left == 0:
        code = "charge_already_refunded"
        raise StripeError(400, f"Charge {charge['id']} has already been refunded.", code=code, kept=True)
    if amount < 1:
        raise invalid("amount", "Invalid positive integer", "parameter_invalid_integer")
    if amount > left:
        sentence = f"Refund amount ({amount}) is greater than unrefunded amount on charge ({left})"
        raise StripeError(400, sentence, param="amount", kept=True)


def blank(shop: Shop, charge: Thing, amount: int, params: Thing) -> Thing:
    return {
        "id": new_id("re"),
        "object": KIND,
        "amount": amount,
        "balance_transaction": None,
        "charge": charge["id"],
        "created": shop.now,
        "currency": charge["currency"],
        "destination_details": None,
        "metadata": params.get("metadata", {}),
        "payment_intent": charge["payment_intent"],
        "reason": params.get("reason"),
        "receipt_number": None,
        "source_transfer_reversal": None,
        "transfer_reversal": None,
    }


def finish(shop: Shop, refund: Thing, *, ok: bool) -> Thing:
    """A pending refund succeeds; or a refund fails, even late, and the merchant gets the money back."""
    if refund["status"] == "failed" or (ok and refund["status"] != "pending"):
        raise StripeError(400, f"SANDBOX: refund {refund['id']} is {refund['status']} already.")
    before = {"status": refund["status"]}
    if not ok:
        charge = shop.get("charge", refund["charge"])
        charge["amount_refunded"] -= refund["amount"]
        charge["refunded"] = False
        refund["failure_reason"] = "lost_or_stolen_card"
        refund["failure_balance_transaction"] = balance.refund_failed(shop, refund)
    refund["status"] = "succeeded" if ok else "failed"
    shop.emit("refund.updated", refund, before)
    if not ok:
        shop.emit("refund.failed", refund)
    return refund
