"""Reads PayPal's objects (plain JSON) into our values. What is missing becomes None; nothing raises."""

from __future__ import annotations

from elicit_flows.kinds.payment.providers.parts import Thing, moment, several, text, within
from elicit_flows.kinds.payment.providers.paypal import amounts
from elicit_flows.kinds.payment.values import DisputeSeen, RefundSeen, Snapshot, State

_ORDERS = {"APPROVED": State.APPROVED, "VOIDED": State.CANCELLED}
_CAPTURES = {
    "COMPLETED": State.PAID,
    "PARTIALLY_REFUNDED": State.PAID,
    "REFUNDED": State.PAID,
    "PENDING": State.PROCESSING,
    "DECLINED": State.FAILED,
    "FAILED": State.FAILED,
}
_REFUNDS = {"COMPLETED": "done", "FAILED": "failed", "CANCELLED": "failed"}
# Of those that PayPal decided: the buyer has the money. Otherwise the seller keeps it, or PayPal itself paid the buyer.
_LOST = frozenset({"RESOLVED_BUYER_FAVOUR", "ACCEPTED"})
_BEST = (State.PAID, State.PROCESSING, State.FAILED, State.OPEN)


def snapshot(order: Thing, livemode: bool, disputes: tuple[DisputeSeen, ...] = ()) -> Snapshot:
    """An unknown status counts as open. What was captured counts, whatever the order's own status."""
    units = several(order, "purchase_units")
    taken = [(one, _CAPTURES.get(text(one.get("status")), State.OPEN)) for one in captures(order)]
    state = _ORDERS.get(text(order.get("status")), State.OPEN)
    if taken:
        state = min((of_one for _, of_one in taken), key=_BEST.index)
    counting = [one for one, of_one in taken if of_one is state]
    # Before a capture, what is asked for counts. Amounts in several currencies are no amount.
    sums = [amounts.of(one) for one in counting or units]
    currencies = {amounts.currency(one) for one in sums}
    return Snapshot(
        ref=order["id"],
        state=state,
        amount=sum(amounts.minor(one) for one in sums) if len(currencies) == 1 else 0,
        currency=currencies.pop() if len(currencies) == 1 else "",
        livemode=livemode,
        our_id=our_id(units[0]) if len(units) == 1 else None,
        payment_ref=text(counting[0].get("id")) or None if counting else None,
        refunds=refunds(order),
        disputes=disputes,
        # Not for APPROVED: it is about to be charged.
        unpaid=state in (State.OPEN, State.FAILED, State.CANCELLED),
        agreed=text(order.get("update_time")) if state is State.APPROVED else "",
    )


def captures(order: Thing) -> list[Thing]:
    return [one for unit in several(order, "purchase_units") for one in several(within(unit, "payments"), "captures")]


def refunds(order: Thing) -> tuple[RefundSeen, ...]:
    """Oldest first."""
    found = [one for unit in several(order, "purchase_units") for one in several(within(unit, "payments"), "refunds")]
    found = [one for one in found if text(one.get("id"))]
    return tuple(refund_seen(one) for one in sorted(found, key=lambda one: text(one.get("create_time"))))


def refund_seen(refund: Thing) -> RefundSeen:
    state = _REFUNDS.get(text(refund.get("status")), "pending")
    return RefundSeen(refund["id"], amounts.minor(amounts.of(refund)), state, our_id(refund))


def our_id(thing: Thing) -> str | None:
    """What we gave a purchase unit or a refund as its ``custom_id``."""
    return text(thing.get("custom_id")) or None


def dispute_seen(dispute: Thing) -> DisputeSeen:
    """``dispute`` with its details, which name the outcome of one that is decided."""
    state, due = "open", None
    if dispute.get("status") == "RESOLVED":
        state = "lost" if within(dispute, "dispute_outcome").get("outcome_code") in _LOST else "won"
    elif dispute.get("status") == "WAITING_FOR_SELLER_RESPONSE":
        due = moment(dispute, "seller_response_due_date")
    amount = amounts.minor(within(dispute, "dispute_amount"))
    return DisputeSeen(text(dispute.get("dispute_id")), amount, state, due)


def link(thing: Thing, *rels: str) -> str:
    """The address of the first link that is one of ``rels``."""
    return next((text(one.get("href")) for one in several(thing, "links") if one.get("rel") in rels), "")
