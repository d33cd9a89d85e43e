"""A payer who takes the money back through their bank."""

from __future__ import annotations

from elicit_flows import queue
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.ledger import entitlements
from elicit_flows.models import Payment


def sync(payment: Payment, said: Snapshot) -> None:
    """The dispute as the provider says it stands, told once for each change. The payment is locked."""
    state = said.disputes[-1].state if said.disputes else ""
    if state == payment.disputed:
        return
    payment.disputed = state
    payment.save(update_fields=["disputed"])
    if state == "open":
        entitlements.suspend(payment)
    elif state == "won":
        entitlements.restore(payment)
    else:
        entitlements.revoke(payment)
    queue.publish(payment.agent, "payment.disputed", {"payment": payment.summary()}, payment.elicitation)
