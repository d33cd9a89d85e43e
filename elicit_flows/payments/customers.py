"""A person's customer id at the payment provider, found by their identity claim and never by an e-mail address."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows.domain.values import Claim
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.models import Customer, Entitlement, Mandate, Payment, Subscription
from elicit_flows.models.upsert import upsert
from elicit_flows.payments import authorizations


def of(payment: Payment) -> str | None:
    """The provider's id of the payer; None if they have none at this account."""
    known = _rows(payment).first()
    return known.ref if known else None


def remember(payment: Payment, said: Snapshot) -> None:
    """Store the payer's id, in the transaction that marks the payment as paid."""
    if said.customer:
        row = Customer(account=payment.account, iss=payment.iss, sub=payment.sub, ref=said.customer)
        upsert(row, "account", "iss", "sub")


def forget(payment: Payment) -> bool:
    """Delete the id, because the provider no longer knows it. Returns whether there was one."""
    return _rows(payment).delete()[0] > 0


def _rows(payment: Payment) -> QuerySet[Customer]:
    return Customer.objects.filter(account_id=payment.account_id, iss=payment.iss, sub=payment.sub)


Status = Payment.Status
RUNNING = (Status.OPEN, Status.PROCESSING, Status.ACTIVE)


def running(claim: Claim, until: datetime) -> QuerySet[Payment]:
    """The payments from before ``until`` that may still bring money. An erasure leaves them to the person until they
    have ended.
    """
    return Payment.objects.filter(iss=claim.iss, sub=claim.sub, status__in=RUNNING, created_at__lte=until)


def rename(claim: Claim, name: str, until: datetime) -> bool:
    """Give the payments from before ``until`` that have ended to ``name``, and forget the payer's id at the provider.

    Returns whether some have yet to end.
    """
    mine = {"iss": claim.iss, "sub": claim.sub}
    with transaction.atomic():
        for model in (Entitlement, Mandate, Subscription):
            rows = model.objects.filter(**mine, payment__created_at__lte=until)
            rows.exclude(payment__status__in=RUNNING).update(iss="", sub=name)
        ended = Payment.objects.filter(**mine, created_at__lte=until).exclude(status__in=RUNNING)
        ended.update(iss="", sub=name)
        authorizations.forget_person(claim, name, until)
        left = running(claim, until).exists()
        if not left:
            Customer.objects.filter(**mine).delete()
    return left
