"""The buyer's actions on the hosted page, and their results."""

from __future__ import annotations

from sandbox.stripe import charges, customers, holds, invoices, subscriptions, taxes
from sandbox.stripe.errors import StripeError
from sandbox.stripe.sessions import BANKS, KIND
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

# Changes that a fault makes to a session when it is paid, to simulate payments that differ from the request.
Bent = dict[str, object]


class Over(Exception):
    """The session is complete or expired, so nothing more can be done with it."""


def check_open(session: Thing) -> None:
    if session["status"] != "open":
        raise Over


def pay(shop: Shop, session: Thing, bent: Bent) -> Thing:
    """Pay by card at once; in mode setup, only save the card. Returns the event. Raises Over."""
    check_open(session)
    taxes.compute(shop, session)
    session.update(bent)
    customer = customers.of_session(shop, session)
    method = charges.payment_method(shop, "card", customer)
    if session["mode"] == "setup":
        session["setup_intent"] = setup_intent(shop, session, method)["id"]
        return complete(shop, session, "no_payment_required")
    if session["mode"] == "subscription":
        subscriptions.start(shop, session, method)
        return complete(shop, session, "paid" if session["amount_total"] else "no_payment_required")
    if not session["amount_total"]:
        return complete(shop, session, "no_payment_required")
    intent = charges.payment_intent(shop, session)
    as_session(intent, session)
    paid = charges.charge(shop, intent, method, "succeeded")
    if intent["capture_method"] == "manual":
        holds.place(shop, intent, paid)
        return complete(shop, session, "unpaid")
    charges.succeed(shop, intent, paid)
    invoices.of_session(shop, session, intent)
    return complete(shop, session, "paid")


def as_session(intent: Thing, session: Thing) -> None:
    """Update an intent of an earlier attempt, which may be older than a fault or the customer."""
    intent |= {name: session[name] for name in ("livemode", "currency", "customer")}
    intent["amount"] = session["amount_total"]


def complete(shop: Shop, session: Thing, payment_status: str) -> Thing:
    payer = {"address": None, "email": session["customer_email"] or charges.BILLING["email"], "name": "SANDBOX Payer"}
    session |= {"status": "complete", "payment_status": payment_status, "url": None, "customer_details": payer}
    return shop.emit("checkout.session.completed", session)


def setup_intent(shop: Shop, session: Thing, method: Thing) -> Thing:
    name = new_id("seti")
    nothing = ("application", "cancellation_reason", "flow_directions", "last_setup_error", "latest_attempt", "mandate")
    made = shop.put(
        dict.fromkeys((*nothing, "next_action", "on_behalf_of", "single_use_mandate"))
        | {
            "id": name,
            "object": "setup_intent",
            "client_secret": new_id(f"{name}_secret"),
            "created": shop.now,
            "customer": session["customer"],
            "description": session["_data"].get("description"),
            "livemode": session["livemode"],
            "metadata": session["_data"].get("metadata", {}),
            "payment_method": method["id"],
            "payment_method_options": {},
            "payment_method_types": session["payment_method_types"],
            "status": "succeeded",
            "usage": "off_session",
        }
    )
    shop.emit("setup_intent.succeeded", made)
    return made


def challenge(shop: Shop, session: Thing) -> None:
    """The bank asks for 3-D Secure first; the session stays open."""
    check_open(session)
    taxes.compute(shop, session)
    if session["mode"] == "payment" and session["amount_total"]:
        intent = charges.payment_intent(shop, session)
        intent |= {"status": "requires_action", "next_action": {"type": "use_stripe_sdk", "use_stripe_sdk": {}}}


def pay_later(shop: Shop, session: Thing, bent: Bent) -> Thing:
    """Pay by a bank method that takes days: the session is complete, but not paid. Only in mode payment."""
    check_open(session)
    bank = BANKS.get(session["currency"], "sepa_debit")
    if not can_pay_later(session):
        raise StripeError(400, "SANDBOX: there is no delayed payment method for this session.")
    session.update(bent)
    customer = customers.of_session(shop, session)
    intent = charges.payment_intent(shop, session)
    as_session(intent, session)
    charges.charge(shop, intent, charges.payment_method(shop, bank, customer), "pending")
    intent |= {"status": "processing", "next_action": None}
    shop.emit("payment_intent.processing", intent)
    return complete(shop, session, "unpaid")


def can_pay_later(session: Thing) -> bool:
    bank = BANKS.get(session["currency"] or "", "sepa_debit")
    return session["mode"] == "payment" and bool(session["amount_total"]) and bank in session["payment_method_types"]


def can_pay_by_card(session: Thing) -> bool:
    return "card" in session["payment_method_types"]


def settle(shop: Shop, session: Thing, *, ok: bool) -> Thing:
    """The bank has decided about a delayed payment."""
    intent = shop.find("payment_intent", session["payment_intent"])
    if session["object"] != KIND or intent is None or intent["status"] != "processing":
        raise StripeError(400, "SANDBOX: no delayed payment is on its way for this session.")
    pending = shop.get("charge", intent["latest_charge"])
    if not ok:
        charges.fail(shop, intent, pending, charges.BANK_FAILURE)
        return shop.emit("checkout.session.async_payment_failed", session)
    charges.succeed(shop, intent, pending)
    invoices.of_session(shop, session, intent)
    session["payment_status"] = "paid"
    return shop.emit("checkout.session.async_payment_succeeded", session)


def decline(shop: Shop, session: Thing) -> None:
    """The card was refused; the session stays open for another attempt."""
    check_open(session)
    taxes.compute(shop, session)
    if session["mode"] != "payment" or not session["amount_total"]:
        return
    intent = charges.payment_intent(shop, session)
    method = charges.payment_method(shop, "card", None, charges.DECLINED_LAST4)
    charges.fail(shop, intent, charges.charge(shop, intent, method, "failed"), charges.DECLINE)
