"""A subscription after its first payment: what was paid for lasts as long as it is paid."""

from __future__ import annotations

from elicit_flows import queue
from elicit_flows.kinds.payment.values import ENDS, SUCCESSES, Snapshot
from elicit_flows.ledger import entitlements
from elicit_flows.models import Payment


def sync(payment: Payment, said: Snapshot) -> None:
    """The subscription as the provider says it stands; its end is told once. The payment is locked.

    While a renewal waits to be paid nothing changes: what was paid runs out by itself, or goes on.
    """
    if payment.status != Payment.Status.ACTIVE:
        return
    if said.state in SUCCESSES:
        entitlements.extend(payment, said.period_end)
    elif said.state in ENDS:
        payment.status = Payment.Status.ENDED
        payment.save(update_fields=["status"])
        entitlements.end(payment, said.period_end)
        queue.publish(payment.agent, "payment.ended", {"payment": payment.summary()}, payment.elicitation)
