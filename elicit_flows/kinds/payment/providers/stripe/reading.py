"""Reads Stripe's objects (plain JSON) into our values. What is missing becomes None; nothing raises."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from elicit_flows.kinds.payment.providers.stripe.errors import CODE
from elicit_flows.kinds.payment.providers.stripe.session import OUR_ID
from elicit_flows.kinds.payment.values import (
    AUTHENTICATION_REQUIRED,
    ENDS,
    DisputeSeen,
    InvoiceSeen,
    RefundSeen,
    Snapshot,
    State,
)

Thing = dict[str, Any]

CHARGE_EXPANDED = ["latest_charge"]
EXPANDED = ["payment_intent.latest_charge", "setup_intent.payment_method", "subscription.latest_invoice", "invoice"]

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
_INVOICES = {"paid": "paid", "void": "void", "uncollectible": "void"}
_REASONS = ("subscription_create", "subscription_cycle", "subscription_update")
# Of a PaymentIntent without a session. Others wait for the person.
_INTENTS = {
    "succeeded": State.PAID,
    "processing": State.PROCESSING,
    "requires_payment_method": State.FAILED,
    "canceled": State.CANCELLED,
}
# Of one that is captured by us. Another status: the payer has agreed, and the bank has not yet.
_HOLDS = {
    "requires_capture": State.APPROVED,
    "succeeded": State.PAID,
    "canceled": State.CANCELLED,  # by us or in the dashboard, or after a week, when the hold lapses
    "requires_payment_method": State.FAILED,
}
_DEAD_INTENTS = {"requires_payment_method", "canceled"}  # in a completed session: the delayed payment failed


def snapshot(session: Thing, refunds: list[Thing], disputes: list[Thing], invoices: Sequence[Thing] = ()) -> Snapshot:
    """``session`` must have been fetched with ``EXPANDED``. ``refunds``, ``disputes`` and the subscription's
    ``invoices``: as Stripe lists them, newest first.
    """
    bills = _bills(invoices)
    return Snapshot(
        ref=session["id"],
        state=_state(session),
        amount=_amount(session),
        currency=session.get("currency") or "",
        livemode=session.get("livemode") is True,
        our_id=our_id(session),
        payment_ref=payment_ref(session),
        receipt_url=_receipt_url(session),
        customer=id_of(session.get("customer")),
        refunds=tuple(refund_seen(one) for one in reversed(refunds)),
        disputes=_disputes_seen(disputes),
        unpaid=_is_unpaid(session),
        period_end=_period_end(within(session, "subscription"), bills),
        invoices=bills,
        price=price(within(session, "subscription")),
        interval=_interval(within(session, "subscription")),
        ends_at=_ends_at(within(session, "subscription")),
        method=id_of(within(session, "setup_intent").get("payment_method"))
        or id_of(within(session, "subscription").get("default_payment_method")),
        method_name=_method_name(within(session, "setup_intent", "payment_method")),
        agreed=id_of(_held(session)) or "",
        tax=_tax(session),
        invoice_url=_address(within(session, "invoice"), "hosted_invoice_url"),
        invoice_pdf=_address(within(session, "invoice"), "invoice_pdf"),
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
    found = []
    for one in reversed(disputes):
        status = str(one.get("status"))
        # 0 or null where the bank takes no answer: https://docs.stripe.com/api/disputes/object
        due = within(one, "evidence_details").get("due_by") if status.endswith("needs_response") else None
        due_at = datetime.fromtimestamp(due, UTC) if due else None
        found.append(DisputeSeen(one["id"], one.get("amount") or 0, _DISPUTES.get(status, "open"), due_at))
    return tuple(found)


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


def _held(session: Thing) -> Thing:
    """The PaymentIntent of a session whose payment is only held on the card until we capture it; {} for others
    (docs.stripe.com/payments/place-a-hold-on-a-payment-method).
    """
    intent = within(session, "payment_intent")
    return intent if intent.get("capture_method") == "manual" and session.get("status") == "complete" else {}


def _is_unpaid(session: Thing) -> bool:
    if _held(session).get("status") == "canceled":
        return True
    return session.get("status") in ("open", "expired") and session.get("payment_status") != "paid"


def is_captured(session: Thing) -> bool:
    return _held(session).get("status") == "succeeded"


def _amount(session: Thing) -> int:
    """What was asked for, and of a captured hold what was taken: it may be a part."""
    asked: int = session.get("amount_total") or 0
    return _held(session).get("amount_received") or 0 if is_captured(session) else asked


def _tax(session: Thing) -> int | None:
    """What Stripe Tax has computed, which it does once it knows where the payer is."""
    tax, found = within(session, "automatic_tax"), within(session, "total_details").get("amount_tax")
    computed = tax.get("enabled") is True and tax.get("status") == "complete"
    return found if computed and isinstance(found, int) else None


def _state(session: Thing) -> State:
    if session.get("status") == "open":
        return State.OPEN
    if session.get("status") == "expired":
        return State.EXPIRED
    settled = session.get("payment_status") in ("paid", "no_payment_required")
    if session.get("mode") == "payment":
        if _held(session):
            return _HOLDS.get(str(_held(session).get("status")), State.PROCESSING)
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


def _address(thing: Thing, name: str) -> str | None:
    found = thing.get(name)
    return found if isinstance(found, str) else None


def price(subscription: Thing) -> int | None:
    """Of one period; None for what has another kind of price."""
    items = within(subscription, "items").get("data") or []
    total = 0
    for one in items:
        amount, quantity = within(one, "price").get("unit_amount"), one.get("quantity")
        if not isinstance(amount, int) or not isinstance(quantity, int):
            return None
        total += amount * quantity
    return total if items else None


def _interval(subscription: Thing) -> str | None:
    """How long a period is: "month" or "3 month"; each of them, if its items differ."""
    found = set()
    for one in within(subscription, "items").get("data") or []:
        recurring = within(one, "price", "recurring")
        count, interval = recurring.get("interval_count"), recurring.get("interval")
        if interval:
            found.add(str(interval) if count in (None, 1) else f"{count} {interval}")
    return " and ".join(sorted(found)) or None


def _ends_at(subscription: Thing) -> datetime | None:
    """When a cancelled subscription ends, if it continues until then."""
    moment = subscription.get("cancel_at")
    if isinstance(moment, int):
        return datetime.fromtimestamp(moment, UTC)
    return _of_items(subscription, "current_period_end") if subscription.get("cancel_at_period_end") is True else None


def _period_end(subscription: Thing, bills: tuple[InvoiceSeen, ...]) -> datetime | None:
    """When it ended, or else the end of the paid period. The current period begins before it is paid for, so the
    invoices say what is paid.
    """
    ended = subscription.get("ended_at")
    if isinstance(ended, int):
        return datetime.fromtimestamp(ended, UTC)
    paid = [bill.ends_at for bill in bills if bill.state == "paid"]
    if paid:
        return max(paid)
    unpaid = subscription.get("status") in ("past_due", "unpaid")
    return _of_items(subscription, "current_period_start" if unpaid else "current_period_end")


def is_behind(subscription: Thing, invoices: Sequence[Thing]) -> bool:
    """Whether the period that it is in was refused, so that nothing that is paid is left of it."""
    begun, paid = _of_items(subscription, "current_period_start"), _period_end(subscription, _bills(invoices))
    unpaid = subscription.get("status") in ("past_due", "unpaid")
    return unpaid and begun is not None and paid is not None and paid <= begun


def _of_items(subscription: Thing, name: str) -> datetime | None:
    """The latest such time of its items, which have them since API version 2025-03-31."""
    items = within(subscription, "items").get("data") or []
    times = [one[name] for one in items if isinstance(one.get(name), int)]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _bills(invoices: Sequence[Thing]) -> tuple[InvoiceSeen, ...]:
    return tuple(bill for bill in map(_invoice_seen, reversed(invoices)) if bill)


def _invoice_seen(invoice: Thing) -> InvoiceSeen | None:
    """None for one that is not about a period, such as an operator's own in between."""
    lines = within(invoice, "lines").get("data") or []
    periods = [within(one, "period") for one in lines if isinstance(one, dict)]
    starts = [one["start"] for one in periods if isinstance(one.get("start"), int)]
    ends = [one["end"] for one in periods if isinstance(one.get("end"), int)]
    reason, tries = invoice.get("billing_reason"), invoice.get("attempt_count")
    if not (starts and ends) or reason not in _REASONS:
        return None
    tries = tries if isinstance(tries, int) else 0
    state = _INVOICES.get(str(invoice.get("status")), "failed" if tries else "open")
    return InvoiceSeen(
        ref=invoice["id"],
        amount=invoice.get("amount_paid" if state == "paid" else "amount_due") or 0,
        currency=invoice.get("currency") or "",
        state=state,
        starts_at=datetime.fromtimestamp(min(starts), UTC),
        ends_at=datetime.fromtimestamp(max(ends), UTC),
        first=reason == "subscription_create",
        tries=tries,
        url=_address(invoice, "hosted_invoice_url"),
        pdf=_address(invoice, "invoice_pdf"),
    )
