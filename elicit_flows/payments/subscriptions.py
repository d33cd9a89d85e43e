"""A subscription after its first payment: its entitlement lasts for as long as it is paid."""

from __future__ import annotations

from elicit_flows import events
from elicit_flows.kinds.payment.values import ENDS, SUCCESSES, Snapshot
from elicit_flows.models import Payment
from elicit_flows.payments import entitlements


def sync(payment: Payment, said: Snapshot) -> None:
    """Apply the subscription's state at the provider, and report its end once. The payment must be locked.

    Nothing changes while a renewal waits to be paid: the entitlement expires by itself, or is extended.
    """
    if payment.status != Payment.Status.ACTIVE:
        return
    if said.state in SUCCESSES:
        # Record the paid period and a cancellation, whoever made it, and report the cancellation once. The period is
        # never shortened, and a snapshot without a cancellation does not take one back, because it may be older. A
        # renewal after the planned end does.
        if said.period_end and (payment.period_end is None or said.period_end > payment.period_end):
            payment.period_end = said.period_end
        told, payment.ends_at = payment.ends_at is not None, said.ends_at or payment.ends_at
        if said.ends_at is None and payment.ends_at and payment.period_end and payment.period_end > payment.ends_at:
            payment.ends_at = None
        payment.save(update_fields=["period_end", "ends_at"])
        entitlements.extend(payment, said.period_end)
        if payment.ends_at and not told:
            events.publish(payment.agent, "payment.unsubscribed", {"payment": payment.summary()}, payment.elicitation)
    elif said.state in ENDS:
        payment.status = Payment.Status.ENDED
        payment.save(update_fields=["status"])
        entitlements.end(payment, said.period_end)
        events.publish(payment.agent, "payment.ended", {"payment": payment.summary()}, payment.elicitation)
