"""A person goes: money that came and went stays on the books, under a name that leads to nobody."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows.models import Customer, Entitlement, Payment
from elicit_flows.values import Claim

Status = Payment.Status
RUNNING = (Status.OPEN, Status.PROCESSING, Status.ACTIVE)


def running(claim: Claim) -> QuerySet[Payment]:
    """Money may still come, or goes on coming: these stay the person's, who may have to act on them."""
    return Payment.objects.filter(iss=claim.iss, sub=claim.sub, status__in=RUNNING)


def rename(claim: Claim, name: str) -> None:
    """What is over belongs to ``name`` from now on, and who the payer is at the provider is forgotten."""
    mine = {"iss": claim.iss, "sub": claim.sub}
    with transaction.atomic():
        Entitlement.objects.filter(**mine).exclude(payment__status__in=RUNNING).update(iss="", sub=name)
        Payment.objects.filter(**mine).exclude(status__in=RUNNING).update(iss="", sub=name)
        if not running(claim).exists():
            Customer.objects.filter(**mine).delete()
