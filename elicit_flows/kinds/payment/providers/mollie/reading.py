"""Reads Mollie's objects (plain JSON) into our values. What is missing becomes None; nothing raises."""

from __future__ import annotations

from elicit_flows.kinds.payment.providers.parts import Thing, text, within
from elicit_flows.kinds.payment.values import DisputeSeen, RefundSeen, Snapshot, State
from elicit_flows.lib import money

OUR_ID = "our_id"  # in the metadata of every payment and refund that we create
EMBEDDED = "refunds,chargebacks"

_STATES = {
    "open": State.OPEN,
    "pending": State.PROCESSING,
    "authorized": State.PROCESSING,  # the money is reserved, and not yet captured
    "paid": State.PAID,
    "failed": State.FAILED,
    "expired": State.EXPIRED,
    "canceled": State.CANCELLED,
}
_REFUNDS = {"refunded": "done", "failed": "failed", "canceled": "failed"}


def snapshot(payment: Thing) -> Snapshot:
    """``payment`` must have been fetched with ``EMBEDDED``. An unknown status counts as open."""
    # Mollie reports a chargeback when the money is gone. It comes back if the chargeback is reversed.
    return Snapshot(
        ref=payment["id"],
        state=state(payment),
        amount=amount(payment),
        currency=currency(payment),
        livemode=livemode(payment),
        our_id=our_id(payment),
        payment_ref=payment["id"],
        refunds=tuple(refund_seen(one) for one in embedded(payment, "refunds")),
        unpaid=payment.get("status") in ("failed", "expired", "canceled"),
        disputes=tuple(
            DisputeSeen(one["id"], amount(one), "won" if one.get("reversedAt") else "lost")
            for one in embedded(payment, "chargebacks")
        ),
    )


def state(payment: Thing) -> State:
    """A bank transfer stays open until the money arrives, though the person has been told where to send it."""
    said = _STATES.get(text(payment.get("status")), State.OPEN)
    return State.PROCESSING if said is State.OPEN and payment.get("method") == "banktransfer" else said


def our_id(thing: Thing) -> str | None:
    named = within(thing, "metadata").get(OUR_ID)
    return named if isinstance(named, str) and named else None


def livemode(payment: Thing) -> bool:
    return payment.get("mode") == "live"


def amount(thing: Thing) -> int:
    """The amount in minor units; 0 if it does not have the currency's form."""
    return money.minor(text(within(thing, "amount").get("value")), currency(thing)) or 0


def currency(thing: Thing) -> str:
    return text(within(thing, "amount").get("currency")).lower()


def refund_seen(refund: Thing) -> RefundSeen:
    return RefundSeen(refund["id"], amount(refund), _REFUNDS.get(text(refund.get("status")), "pending"), our_id(refund))


def embedded(thing: Thing, name: str) -> list[Thing]:
    """The embedded objects that have an id, oldest first."""
    found = within(thing, "_embedded").get(name)
    things = [one for one in found if isinstance(one, dict) and text(one.get("id"))] if isinstance(found, list) else []
    things.reverse()  # Mollie lists the newest first
    return sorted(things, key=lambda one: text(one.get("createdAt")))


def link(payment: Thing, name: str) -> str:
    return text(within(payment, "_links", name).get("href"))
