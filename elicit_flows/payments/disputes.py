"""Disputes (chargebacks): a payer takes the money back through their bank."""

from __future__ import annotations

from django.db.models import QuerySet

from elicit_flows import events
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.lib import clock
from elicit_flows.models import Payment
from elicit_flows.payments import entitlements


def sync(payment: Payment, said: Snapshot) -> None:
    """Apply the dispute's state at the provider, and report each change once. The payment must be locked.

    A snapshot without a dispute changes nothing: it is older than the dispute, or about another period of a
    subscription.
    """
    if not said.disputes:
        return
    # What one of them has taken is gone, however another ends.
    states = {one.state for one in said.disputes}
    before, state = payment.disputed, next((one for one in ("lost", "open") if one in states), "won")
    payment.disputed = state
    payment.evidence_due = min((one.evidence_due for one in said.disputes if one.evidence_due), default=None)
    payment.save(update_fields=["disputed", "evidence_due"])
    if state == before:
        return
    if state == "open":
        entitlements.suspend(payment)
    elif state == "won":
        entitlements.restore(payment)
    else:
        entitlements.revoke(payment)
    if before == "lost" and not payment.problem and payment.refunded < payment.amount:
        entitlements.give_again(payment)  # reversed; or appealed, and suspended until that is decided
    events.publish(payment.agent, "payment.disputed", {"payment": payment.summary()}, payment.elicitation)


def waiting_for_evidence() -> QuerySet[Payment]:
    """The disputed payments whose provider still takes evidence, the first deadline first."""
    return Payment.objects.filter(evidence_due__gt=clock.now()).order_by("evidence_due")
