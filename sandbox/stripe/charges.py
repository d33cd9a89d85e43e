"""The objects of a paid session: payment method, PaymentIntent and Charge, as Stripe shows them."""

from __future__ import annotations

from sandbox.stripe import application_fees, balance
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

LAST4, DECLINED_LAST4 = "4242", "0002"
_ADDRESS = dict.fromkeys(("city", "country", "line1", "line2", "postal_code", "state"))
BILLING = {
    "address": _ADDRESS,
    "email": "payer@sandbox.example",
    "name": "SANDBOX Payer",
    "phone": None,
    "tax_id": None,
}
_CARD = {
    "brand": "visa",
    "country": "US",
    "exp_month": 12,
    "exp_year": 2040,
    "fingerprint": "SANDBOX",
    "funding": "credit",
}
DECLINE = {
    "code": "card_declined",
    "decline_code": "generic_decline",
    "doc_url": "https://docs.stripe.com/error-codes/card-declined",
    "message": "SANDBOX: Your card was declined.",
    "type": "card_error",
}
BANK_FAILURE = {
    "code": "payment_intent_payment_attempt_failed",
    "message": "SANDBOX: the bank refused the payment.",
    "type": "api_error",
}


def payment_method(shop: Shop, type: str, customer: str | None, last4: str = LAST4) -> Thing:
    details = _CARD | {"last4": last4} if type == "card" else {}
    return shop.put(
        {
            "id": new_id("pm"),
            "object": "payment_method",
            "allow_redisplay": "unspecified",
            "billing_details": BILLING,
            "created": shop.now,
            "customer": customer,
            "livemode": False,
            "metadata": {},
            "type": type,
            type: details,
        }
    )


def payment_intent(shop: Shop, session: Thing, data: Thing | None = None) -> Thing:
    """The session's PaymentIntent, created at the first attempt to pay."""
    known = shop.find("payment_intent", session["payment_intent"])
    if known:
        return known
    data = session["_data"] if data is None else data
    intent = shop.put(blank_intent(shop, session["amount_total"], session["currency"], session["customer"], data))
    intent["payment_method_types"] = session["payment_method_types"]
    session["payment_intent"] = intent["id"]
    return intent


def blank_intent(shop: Shop, amount: int, currency: str, customer: str | None, data: Thing) -> Thing:
    name = new_id("pi")
    nothing = (
        *("application", "application_fee_amount", "automatic_payment_methods", "canceled_at", "cancellation_reason"),
        *("last_payment_error", "latest_charge", "next_action", "on_behalf_of", "payment_method", "processing"),
        *("receipt_email", "review", "shipping", "source", "statement_descriptor", "statement_descriptor_suffix"),
        *("transfer_data", "transfer_group"),
    )
    return dict.fromkeys(nothing) | {
        "id": name,
        "object": "payment_intent",
        "amount": amount,
        "amount_capturable": 0,
        "application_fee_amount": data.get("application_fee_amount"),
        "amount_received": 0,
        "capture_method": data.get("capture_method", "automatic_async"),
        "client_secret": new_id(f"{name}_secret"),
        "confirmation_method": "automatic",
        "created": shop.now,
        "currency": currency,
        "customer": customer,
        "description": data.get("description"),
        "livemode": False,
        "metadata": data.get("metadata", {}),
        "payment_method_options": {},
        "payment_method_types": ["card"],
        "setup_future_usage": data.get("setup_future_usage"),
        "status": "requires_payment_method",
    }


def charge(shop: Shop, intent: Thing, method: Thing, status: str) -> Thing:
    """``status``: succeeded, pending or failed. It becomes the intent's latest charge."""
    name = new_id("ch" if method["type"] == "card" else "py")
    nothing = (
        *("application", "application_fee", "application_fee_amount", "balance_transaction", "failure_code"),
        *("calculated_statement_descriptor", "failure_balance_transaction", "failure_message", "on_behalf_of"),
        *("receipt_email", "receipt_number", "review", "shipping", "source", "source_transfer", "refunds"),
        *("statement_descriptor", "statement_descriptor_suffix", "transfer_data", "transfer_group"),
    )
    intent["latest_charge"] = name
    return shop.put(
        dict.fromkeys(nothing)
        | {
            "id": name,
            "object": "charge",
            "amount": intent["amount"],
            "amount_captured": 0,
            "amount_refunded": 0,
            "billing_details": BILLING,
            "captured": False,
            "created": shop.now,
            "currency": intent["currency"],
            "customer": intent["customer"],
            "description": intent["description"],
            "disputed": False,
            "fraud_details": {},
            "livemode": intent["livemode"],
            "metadata": dict(intent["metadata"]),
            "outcome": {"type": "authorized", "network_status": "approved_by_network", "risk_level": "normal"},
            "paid": False,
            "payment_intent": intent["id"],
            "payment_method": method["id"],
            "payment_method_details": {"type": method["type"], method["type"]: on_charge(method)},
            "receipt_url": f"{shop.root}/c/receipt/{name}",
            "refunded": False,
            "status": status,
        }
    )


def on_charge(method: Thing) -> Thing:
    return {**_CARD, "last4": method["card"]["last4"]} if method["type"] == "card" else {}


def succeed(shop: Shop, intent: Thing, paid: Thing, captured: int | None = None) -> None:
    """The money has arrived; ``captured``: that much of a hold."""
    amount = intent["amount"] if captured is None else captured
    paid |= {"status": "succeeded", "paid": True, "captured": True, "amount_captured": amount}
    application_fees.take(paid, intent["application_fee_amount"])
    paid["balance_transaction"] = balance.charged(shop, paid)
    intent |= {"status": "succeeded", "amount_received": amount, "last_payment_error": None, "processing": None}
    intent |= {"payment_method": paid["payment_method"], "next_action": None}
    shop.emit("payment_intent.succeeded", intent)
    shop.emit("charge.succeeded" if captured is None else "charge.captured", paid)


def fail(shop: Shop, intent: Thing, failed: Thing, error: Thing) -> None:
    """The card was declined, or the bank refused in the end."""
    failed |= {"status": "failed", "failure_code": error["code"], "failure_message": error["message"]}
    failed["outcome"] = {"type": "issuer_declined", "network_status": "declined_by_network", "risk_level": "normal"}
    intent |= {"status": "requires_payment_method", "last_payment_error": {**error, "charge": failed["id"]}}
    intent |= {"payment_method": None, "next_action": None, "processing": None}
    shop.emit("payment_intent.payment_failed", intent)
    shop.emit("charge.failed", failed)
