"""What was paid for: granted with the payment, used up one by one, ended by refund or dispute."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows.errors import Conflict
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Entitlement, EntitlementUse, Payment
from elicit_flows.values import Claim

Status = Entitlement.Status


def grant(payment: Payment, said: Snapshot) -> None:
    """For a payment that names an item; in the transaction that makes it paid."""
    if not payment.item:
        return
    asked = payment.elicitation.params if payment.elicitation else {}
    Entitlement.objects.create(
        agent=payment.agent,
        payment=payment,
        iss=payment.iss,
        sub=payment.sub,
        item=payment.item,
        uses_left=asked.get("uses"),
        valid_until=said.period_end,
    )


def valid(agent: Agent, claim: Claim, item: str) -> Entitlement | None:
    """The person has paid for it already, and it is not used up."""
    rows = Entitlement.objects.filter(agent=agent, iss=claim.iss, sub=claim.sub, item=item, status=Status.ACTIVE)
    return next((row for row in rows.select_related("payment").order_by("created_at") if row.usable), None)


def consume(entitlement: Entitlement, key: str) -> Entitlement:
    """Use it once; the same ``key`` again is the same use. Raises Conflict when there is nothing left to use."""
    with transaction.atomic():
        row = Entitlement.objects.select_for_update().get(pk=entitlement.pk)
        if EntitlementUse.objects.filter(entitlement=row, key=key).exists():
            return row
        if not row.usable:
            raise Conflict("This entitlement is used up, over, suspended or revoked.")
        EntitlementUse.objects.create(entitlement=row, key=key, created_at=clock.now())
        if row.uses_left is not None:
            row.uses_left -= 1
            row.save(update_fields=["uses_left"])
        return row


def suspend(payment: Payment) -> None:
    _of(payment).filter(status=Status.ACTIVE).update(status=Status.SUSPENDED)


def restore(payment: Payment) -> None:
    _of(payment).filter(status=Status.SUSPENDED).update(status=Status.ACTIVE)


def revoke(payment: Payment) -> None:
    _of(payment).update(status=Status.REVOKED)


def give_again(payment: Payment) -> None:
    """What a refund took, when its money came back; unless the payer has taken it back otherwise."""
    if payment.disputed != "lost":
        status = Status.SUSPENDED if payment.disputed == "open" else Status.ACTIVE
        _of(payment).filter(status=Status.REVOKED).update(status=status)


def extend(payment: Payment, until: datetime | None) -> None:
    """A further period is paid. Never shorter: what says so is older."""
    if until:
        _of(payment).filter(valid_until__lt=until).update(valid_until=until)


def end(payment: Payment, at: datetime | None) -> None:
    _of(payment).exclude(status=Status.REVOKED).update(status=Status.ENDED, valid_until=at or clock.now())


def _of(payment: Payment) -> QuerySet[Entitlement]:
    return Entitlement.objects.filter(payment=payment)
