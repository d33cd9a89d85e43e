"""A payer who takes the money back through their bank."""

from __future__ import annotations

from elicit_flows import queue
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.ledger import entitlements
from elicit_flows.models import Payment


def sync(payment: Payment, said: Snapshot) -> None:
    """The dispute as the provider says it stands, told once for each change. The payment is locked.

    A snapshot without one is older than the dispute, or of another period of a subscription: it says nothing.
    """
    state = said.disputes[-1].state if said.disputes else payment.disputed
    if state == payment.disputed:
        return
    before, payment.disputed = payment.disputed, state
    payment.save(update_fields=["disputed"])
    if state == "open":
        entitlements.suspend(payment)
    elif state == "won":
        entitlements.restore(payment)
        if before == "lost" and not payment.problem and payment.refunded < payment.amount:
            entitlements.give_again(payment)
    else:
        entitlements.revoke(payment)
    queue.publish(payment.agent, "payment.disputed", {"payment": payment.summary()}, payment.elicitation)
