"""Reads Stripe's objects (plain JSON) into our values. What is missing becomes None; nothing raises."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from elicit_flows.kinds.payment.providers.stripe.errors import CODE
from elicit_flows.kinds.payment.providers.stripe.session import OUR_ID
from elicit_flows.kinds.payment.values import AUTHENTICATION_REQUIRED, ENDS, DisputeSeen, RefundSeen, Snapshot, State

Thing = dict[str, Any]

CHARGE_EXPANDED = ["latest_charge"]
EXPANDED = ["payment_intent.latest_charge", "setup_intent.payment_method", "subscription.latest_invoice"]

_REFUNDS = {"succeeded": "done", "failed": "failed", "canceled": "failed"}
# An inquiry (warning_*) counts as a dispute while it is open. When it is closed, no money has moved.
_DISPUTES = {"won": "won", "lost": "lost", "warning_closed": "won", "prevented": "won"}
_SUBSCRIPTIONS = {
    "active": State.ACTIVE,
    "trialing": State.ACTIVE,
    "past_due": State.ACTIVE,
    "incomplete": State.PROCESSING,
    "unpaid": State.PROCESSING,  # continues when the invoices are paid
    "paused": State.PROCESSING,
    "incomplete_expired": State.FAILED,
}
ENDED = ("canceled", "incomplete_expired")
# Of a PaymentIntent without a session. Others wait for the person.
_INTENTS = {
    "succeeded": State.PAID,
    "processing": State.PROCESSING,
    "requires_payment_method": State.FAILED,
    "canceled": State.CANCELLED,
}
_DEAD_INTENTS = {"requires_payment_method", "canceled"}  # in a completed session: the delayed payment failed


def snapshot(session: Thing, refunds: list[Thing], disputes: list[Thing]) -> Snapshot:
    """``session`` must have been fetched with ``EXPANDED``. ``refunds`` and ``disputes``: as Stripe lists them, newest
    first.
    """
    return Snapshot(
        ref=session["id"],
        state=_state(session),
        amount=session.get("amount_total") or 0,
        currency=session.get("currency") or "",
        livemode=session.get("livemode") is True,
        our_id=our_id(session),
        payment_ref=payment_ref(session),
        receipt_url=_receipt_url(session),
        customer=id_of(session.get("customer")),
        refunds=tuple(refund_seen(one) for one in reversed(refunds)),
        disputes=_disputes_seen(disputes),
        unpaid=session.get("status") in ("open", "expired") and session.get("payment_status") != "paid",
        period_end=_period_end(within(session, "subscription")),
        ends_at=_ends_at(within(session, "subscription")),
        method=id_of(within(session, "setup_intent").get("payment_method")),
        method_name=_method_name(within(session, "setup_intent", "payment_method")),
    )


def charge_snapshot(intent: Thing, refunds: list[Thing], disputes: list[Thing]) -> Snapshot:
    """A PaymentIntent without a session, fetched with ``CHARGE_EXPANDED``."""
    state = _INTENTS.get(str(intent.get("status")), State.OPEN)
    return Snapshot(
        ref=intent["id"],
        state=state,
        amount=intent.get("amount_received" if state is State.PAID else "amount") or 0,
        currency=intent.get("currency") or "",
        livemode=intent.get("livemode") is True,
        our_id=within(intent, "metadata").get(OUR_ID),
        payment_ref=intent["id"],
        receipt_url=within(intent, "latest_charge").get("receipt_url"),
        customer=id_of(intent.get("customer")),
        refunds=tuple(refund_seen(one) for one in reversed(refunds)),
        disputes=_disputes_seen(disputes),
        unpaid=state in ENDS and state is not State.PAID,
        failure=_failure(intent) if state in ENDS and state is not State.PAID else None,
    )


def _failure(intent: Thing) -> str:
    """The error's code; the bank's own reason is more exact where there is one."""
    error = within(intent, "last_payment_error")
    said = [error.get("code"), error.get("decline_code")]
    if AUTHENTICATION_REQUIRED in said or intent.get("cancellation_reason") == "abandoned":
        return AUTHENTICATION_REQUIRED
    code = said[1] if said[0] == "card_declined" and said[1] else said[0]
    return code if isinstance(code, str) and CODE.fullmatch(code) else "declined"


def _method_name(method: Thing) -> str | None:
    card = within(method, "card")
    if card.get("brand") and card.get("last4"):
        return f"{card['brand']} {card['last4']}"
    return str(method["type"]) if method.get("type") else None


def our_id(session: Thing) -> str | None:
    """Our id, which the session has in two places; None unless they agree."""
    reference = session.get("client_reference_id")
    return reference if reference and reference == within(session, "metadata").get(OUR_ID) else None


def payment_ref(session: Thing) -> str | None:
    """The PaymentIntent, or the Subscription, which continues after its first payment."""
    return id_of(session.get("subscription")) or id_of(session.get("payment_intent"))


def refund_seen(refund: Thing) -> RefundSeen:
    state = _REFUNDS.get(str(refund.get("status")), "pending")
    return RefundSeen(refund["id"], refund.get("amount") or 0, state, within(refund, "metadata").get(OUR_ID))


def _disputes_seen(disputes: list[Thing]) -> tuple[DisputeSeen, ...]:
    return tuple(
        DisputeSeen(one["id"], one.get("amount") or 0, _DISPUTES.get(str(one.get("status")), "open"))
        for one in reversed(disputes)
    )


def id_of(thing: Any) -> str | None:
    """The id in an id, an expanded object or nothing."""
    found = thing.get("id") if isinstance(thing, dict) else thing
    return found if isinstance(found, str) and found else None


def within(thing: Thing, *names: str) -> Thing:
    """The object at the end of ``names``; {} if one of them is missing or not expanded."""
    for name in names:
        found = thing.get(name)
        thing = found if isinstance(found, dict) else {}
    return thing


def _state(session: Thing) -> State:
    if session.get("status") == "open":
        return State.OPEN
    if session.get("status") == "expired":
        return State.EXPIRED
    settled = session.get("payment_status") in ("paid", "no_payment_required")
    if session.get("mode") == "payment":
        return State.PAID if settled else _waiting(within(session, "payment_intent"))
    if session.get("mode") == "setup":
        intent = within(session, "setup_intent")
        return State.SAVED if intent.get("status") == "succeeded" else _waiting(intent)
    status = within(session, "subscription").get("status")
    standing = _SUBSCRIPTIONS.get(status, State.CANCELLED) if status else State.PROCESSING
    return State.PROCESSING if standing is State.ACTIVE and not settled else standing


def _waiting(intent: Thing) -> State:
    return State.FAILED if intent.get("status") in _DEAD_INTENTS else State.PROCESSING


def _receipt_url(session: Thing) -> str | None:
    charge = within(session, "payment_intent", "latest_charge")
    invoice = within(session, "subscription", "latest_invoice")
    url = charge.get("receipt_url") or invoice.get("hosted_invoice_url")
    return url if isinstance(url, str) else None


def _ends_at(subscription: Thing) -> datetime | None:
    """When a cancelled subscription ends, if it continues until then."""
    moment = subscription.get("cancel_at")
    if isinstance(moment, int):
        return datetime.fromtimestamp(moment, UTC)
    return _period_end(subscription) if subscription.get("cancel_at_period_end") is True else None


def _period_end(subscription: Thing) -> datetime | None:
    """When it ended, or else the end of the paid period (per item since API version 2025-03-31)."""
    items = within(subscription, "items").get("data") or []
    ends = [one["current_period_end"] for one in items if isinstance(one.get("current_period_end"), int)]
    moment = subscription.get("ended_at") or (max(ends) if ends else None)
    return datetime.fromtimestamp(moment, UTC) if moment else None
