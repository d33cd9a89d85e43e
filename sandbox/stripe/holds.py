"""Payments that are held on a card until the merchant captures them
(docs.stripe.com/payments/place-a-hold-on-a-payment-method).
"""

from __future__ import annotations

from sandbox.stripe import application_fees, charges
from sandbox.stripe.errors import StripeError, invalid
from sandbox.stripe.sessions import KIND as SESSION
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing

LASTS = 7 * 86_400  # seconds: of a card


def place(shop: Shop, intent: Thing, held: Thing) -> None:
    """The bank has agreed, and no money moves yet."""
    held |= {"status": "succeeded", "paid": True}
    intent |= {"status": "requires_capture", "amount_capturable": intent["amount"], "last_payment_error": None}
    intent |= {"payment_method": held["payment_method"], "next_action": None}
    shop.emit("payment_intent.amount_capturable_updated", intent)
    shop.emit("charge.succeeded", held)


def capture(shop: Shop, intent: Thing, params: Thing) -> Thing:
    """Take the money, once. What is not captured is released."""
    if intent["status"] != "requires_capture":
        sentence = (
            f"This PaymentIntent could not be captured because it has a status of {intent['status']}. Only a "
            "PaymentIntent with one of the following statuses may be captured: requires_capture."
        )
        raise StripeError(400, sentence, code="payment_intent_unexpected_state")
    most = intent["amount_capturable"]
    amount: int = params.get("amount_to_capture") or most
    if not 0 < amount <= most:
        raise invalid("amount_to_capture", f"The requested capture amount is not between 1 and {most}.")
    application_fees.check(shop, params.get("application_fee_amount"), amount, "application_fee_amount")
    intent["application_fee_amount"] = params.get("application_fee_amount", intent["application_fee_amount"])
    intent["amount_capturable"] = 0
    charges.succeed(shop, intent, shop.get("charge", intent["latest_charge"]), amount)
    session = of_session(shop, intent)
    if session:
        session["payment_status"] = "paid"
    return intent


def let_go(shop: Shop, intent: Thing) -> None:
    """With the cancellation of its intent. Nothing was taken, so there is no refund object."""
    held = shop.get("charge", intent["latest_charge"])
    held |= {"refunded": True, "amount_refunded": held["amount"]}
    intent["amount_capturable"] = 0
    shop.emit("charge.refunded", held)


def of_session(shop: Shop, intent: Thing) -> Thing | None:
    return next((one for one in shop.all(SESSION) if one["payment_intent"] == intent["id"]), None)
