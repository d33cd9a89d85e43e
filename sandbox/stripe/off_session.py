"""PaymentIntents that a merchant confirms with a saved payment method while the buyer is away."""

from __future__ import annotations

from sandbox.stripe import application_fees, charges, holds
from sandbox.stripe.errors import Declined, StripeError, invalid, required, unsimulated
from sandbox.stripe.money import check_currency, check_total
from sandbox.stripe.shop import Shop, shown
from sandbox.stripe.store import Thing

KIND = "payment_intent"
# What a bank may say to a saved card: docs.stripe.com/error-codes, docs.stripe.com/declines/codes
DECLINES = {
    "declined": charges.DECLINE,
    "insufficient_funds": charges.DECLINE | {"decline_code": "insufficient_funds"},
    "authentication_required": {
        "code": "authentication_required",
        "decline_code": "authentication_required",
        "doc_url": "https://docs.stripe.com/error-codes/authentication-required",
        "message": "SANDBOX: Your card was declined. This transaction requires authentication.",
        "type": "card_error",
    },
}
OUTCOMES = ("ok", *DECLINES, "requires_action", "processing")


def create(shop: Shop, params: Thing) -> Thing:
    """Charge a saved method. Raises StripeError for what Stripe would refuse, Declined for what the bank refuses."""
    method = checked(shop, params)
    data: Thing = {
        name: params[name] for name in ("description", "metadata", "application_fee_amount") if name in params
    }
    intent = shop.put(charges.blank_intent(shop, params["amount"], params["currency"], params["customer"], data))
    intent["automatic_payment_methods"] = params.get("automatic_payment_methods")
    intent["payment_method"] = method["id"]
    shop.emit("payment_intent.created", intent)
    outcome = method.get("_outcome", "ok")
    if outcome in DECLINES:
        charges.fail(shop, intent, charges.charge(shop, intent, method, "failed"), DECLINES[outcome])
        raise Declined(DECLINES[outcome], shown(intent))
    if outcome == "requires_action":
        intent |= {"status": "requires_action", "next_action": {"type": "use_stripe_sdk", "use_stripe_sdk": {}}}
        shop.emit("payment_intent.requires_action", intent)
    elif outcome == "processing":
        charges.charge(shop, intent, method, "pending")
        intent["status"] = "processing"
        shop.emit("payment_intent.processing", intent)
    else:
        charges.succeed(shop, intent, charges.charge(shop, intent, method, "succeeded"))
    return intent


def checked(shop: Shop, params: Thing) -> Thing:
    """The method, if the parameters are those of an off-session charge: the sandbox has no other."""
    for name in ("amount", "currency", "customer", "payment_method"):
        if name not in params:
            raise required(name)
    if not (params.get("confirm") and params.get("off_session") == "true"):
        raise unsimulated("a PaymentIntent without confirm=true and off_session=true")
    check_currency(params["currency"], "currency")
    if params["amount"] < 1:
        raise invalid("amount", "This value must be greater than or equal to 1.", "parameter_invalid_integer")
    check_total(params["amount"], params["currency"])
    application_fees.check(shop, params.get("application_fee_amount"), params["amount"], "application_fee_amount")
    if params.get("automatic_payment_methods", {}).get("allow_redirects", "always") != "never":
        sentence = (
            "This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because some of "
            "these payment methods might redirect your customer off of your page, you must provide a `return_url`."
        )
        raise StripeError(400, sentence)
    shop.get("customer", params["customer"], "customer", 400)
    method = shop.get("payment_method", params["payment_method"], "payment_method", 400)
    if method["customer"] != params["customer"]:
        sentence = f"The payment method {method['id']} does not belong to the customer {params['customer']}."
        raise StripeError(400, sentence, code="payment_method_unexpected_state")
    return method


def cancel(shop: Shop, intent: Thing, params: Thing) -> Thing:
    if intent["status"] in ("succeeded", "canceled", "processing"):
        sentence = (
            f"You cannot cancel this PaymentIntent because it has a status of {intent['status']}. Only a PaymentIntent "
            "with one of the following statuses may be canceled: requires_payment_method, requires_capture, "
            "requires_confirmation, requires_action, processing."
        )
        raise StripeError(400, sentence, code="payment_intent_unexpected_state")
    session = holds.of_session(shop, intent)
    if session and session["status"] == "open":
        sentence = "You cannot cancel the PaymentIntent for a Checkout Session. Expire the Checkout Session instead."
        raise StripeError(400, sentence)
    if intent["status"] == "requires_capture":
        holds.let_go(shop, intent)
    intent |= {
        "status": "canceled",
        "canceled_at": shop.now,
        "cancellation_reason": params.get("cancellation_reason"),
        "next_action": None,
    }
    shop.emit("payment_intent.canceled", intent)
    return intent


def lapse_due(shop: Shop) -> None:
    """Cancel holds that nobody has captured in time."""
    for intent in shop.all(KIND):
        if intent["status"] == "requires_capture" and intent["created"] + holds.LASTS <= shop.now:
            cancel(shop, intent, {"cancellation_reason": "automatic"})


def settle(shop: Shop, intent: Thing, *, ok: bool) -> Thing:
    """The bank has decided about a charge that was on its way."""
    if intent["status"] != "processing":
        raise StripeError(400, "SANDBOX: no delayed payment is on its way for this PaymentIntent.")
    pending = shop.get("charge", intent["latest_charge"])
    if ok:
        charges.succeed(shop, intent, pending)
    else:
        charges.fail(shop, intent, pending, charges.BANK_FAILURE)
    return intent
