"""What agents, operators and people may see of the ledger. Everything that an agent sees starts at ``…_of``."""

from __future__ import annotations

from django.db.models import QuerySet

from elicit_flows.models import Agent, Entitlement, Payment, Refund
from elicit_flows.values import Claim

Status = Payment.Status
WENT_THROUGH = (Status.PROCESSING, Status.PAID, Status.SAVED, Status.ACTIVE, Status.ENDED)


def payments_of(agent: Agent) -> QuerySet[Payment]:
    return Payment.objects.filter(agent=agent)


def refunds_of(payment: Payment) -> QuerySet[Refund]:
    return Refund.objects.filter(payment=payment).select_related("payment")


def entitlements_of(agent: Agent) -> QuerySet[Entitlement]:
    return Entitlement.objects.filter(agent=agent)


def made_by(claim: Claim) -> QuerySet[Payment]:
    """What this person paid, saved or subscribed to, for every agent, or what came not as it was asked for."""
    shown = (*WENT_THROUGH, Payment.Status.MISMATCH)
    rows = Payment.objects.filter(iss=claim.iss, sub=claim.sub, status__in=shown)
    return rows.select_related("agent", "account", "elicitation").order_by("-created_at")
