"""What was paid for: granted with the payment, used, and ended by a refund or dispute."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from elicit_flows.domain.errors import Conflict
from elicit_flows.domain.values import Claim, Json
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Entitlement, EntitlementUse, Payment, PaymentAccount

Status = Entitlement.Status


def grant(payment: Payment, said: Snapshot) -> None:
    """Create the entitlement of a payment with an item, in the transaction that marks it as paid."""
    if not payment.item:
        return
    Entitlement.objects.create(
        agent=payment.agent,
        payment=payment,
        iss=payment.iss,
        sub=payment.sub,
        item=payment.item,
        uses_left=payment.uses,
        valid_until=said.period_end,
    )


def valid(agent: Agent, claim: Claim, account: PaymentAccount, asked: Json) -> Entitlement | None:
    """The entitlement, if the person has already paid for exactly this and it is not used up. ``asked``: the payment's
    params.

    Everything that decides how much money arrives, and where, must be the same: a person who paid less, in test mode,
    or nothing (mode save) has not paid for this. Nor is one order another, even where the sums are the same. The
    account also fixes livemode, which never changes. Of a subscription, the price that its person agreed to last is
    meant.
    """
    # Where the provider computes the tax, what was asked for is the most that could be charged.
    most = Coalesce("payment__max_amount", "payment__amount")
    price = F("payment__subscription__amount") if asked["mode"] == "subscribe" else most
    rows = Entitlement.objects.alias(price=price).filter(
        agent=agent,
        iss=claim.iss,
        sub=claim.sub,
        item=asked["item"],
        status=Status.ACTIVE,
        payment__account=account,
        payment__mode=asked["mode"],
        payment__currency=asked["currency"],
        price=asked["amount"],
        payment__interval=asked["interval"] or "",
        payment__uses=asked["uses"],
    )
    rows = rows.select_related("payment__account").order_by("created_at")
    only_live = live_only(agent)
    same = (row for row in rows if row.payment.order == asked.get("order"))
    return next((row for row in same if row.usable(live_only=only_live)), None)


def live_only(agent: Agent) -> bool:
    """Whether the agent takes real money. If so, what was paid in test mode is worth nothing."""
    return agent.payment_accounts.filter(livemode=True).exists()


def consume(entitlement: Entitlement, key: str) -> Entitlement:
    """Use it once; the same ``key`` again is the same use. Raises Conflict if it cannot be used."""
    with transaction.atomic():
        row = Entitlement.objects.select_for_update().get(pk=entitlement.pk)
        only_live = live_only(row.agent)
        if only_live and not row.payment.account.livemode:
            raise Conflict("This entitlement was paid for in test mode, and this agent takes real money.")
        if EntitlementUse.objects.filter(entitlement=row, key=key).exists():
            return row
        if not row.usable(live_only=only_live):
            raise Conflict("This entitlement is used up, expired, suspended or revoked.")
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
    """Restore what a refund revoked, because the refund failed; not if the payer won a dispute."""
    if payment.disputed != "lost":
        status = Status.SUSPENDED if payment.disputed == "open" else Status.ACTIVE
        _of(payment).filter(status=Status.REVOKED).update(status=status)


def extend(payment: Payment, until: datetime | None) -> None:
    """Extend it for another paid period. It is never shortened: a snapshot with an earlier end is older."""
    if until:
        _of(payment).filter(valid_until__lt=until).update(valid_until=until)


def end(payment: Payment, at: datetime | None) -> None:
    _of(payment).exclude(status=Status.REVOKED).update(status=Status.ENDED, valid_until=at or clock.now())


def _of(payment: Payment) -> QuerySet[Entitlement]:
    return Entitlement.objects.filter(payment=payment)
