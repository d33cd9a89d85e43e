"""What agents, operators and people may see of payments. Queries for agents are named ``…_of``."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from elicit_flows.domain.values import Claim
from elicit_flows.models import (
    Agent,
    Elicitation,
    Entitlement,
    Mandate,
    MandateCharge,
    Payment,
    Refund,
    Renewal,
    SpendLimit,
    Subscription,
)
from elicit_flows.models.payment import REFUNDED

Status = Payment.Status
WENT_THROUGH = (Status.PROCESSING, Status.PAID, Status.SAVED, Status.ACTIVE, Status.ENDED, Status.REMOVED)


def payments_of(agent: Agent) -> QuerySet[Payment]:
    return Payment.objects.filter(agent=agent)


def with_status(status: str) -> Q:
    """Payments whose summary has this ``status``. A payment that was refunded in full is "refunded", not "paid"."""
    if status == "refunded":
        return REFUNDED
    return Q(status=status) & ~REFUNDED if status == Status.PAID else Q(status=status)


def asked_for_by(elicitation: str) -> Q:
    """Payments of the elicitation with this id, or of one of its steps."""
    whole = Elicitation.objects.filter(pk=elicitation, parent=None)
    steps = Elicitation.objects.filter(parent=elicitation)
    return Q(elicitation__in=[row.pk for row in (*whole.only("pk"), *steps.only("pk"))])


def refunds_of(payment: Payment) -> QuerySet[Refund]:
    return Refund.objects.filter(payment=payment).select_related("payment")


def entitlements_of(agent: Agent) -> QuerySet[Entitlement]:
    return Entitlement.objects.filter(agent=agent).select_related("payment__account")


def spend_limits_of(agent: Agent) -> QuerySet[SpendLimit]:
    return SpendLimit.objects.filter(agent=agent)


def mandates_of(agent: Agent) -> QuerySet[Mandate]:
    """Those that a person has agreed to, ended ones too."""
    return _given(Mandate.objects.filter(agent=agent))


def mandates_by(claim: Claim) -> QuerySet[Mandate]:
    """What this person has agreed to, for all agents."""
    return _given(Mandate.objects.filter(iss=claim.iss, sub=claim.sub)).order_by("-created_at")


def _given(rows: QuerySet[Mandate]) -> QuerySet[Mandate]:
    return rows.filter(given_at__isnull=False).select_related("agent", "account", "payment__account")


def charges_of(mandate: Mandate) -> QuerySet[MandateCharge]:
    return MandateCharge.objects.filter(mandate=mandate).select_related("payment__elicitation__agent")


def subscriptions_of(agent: Agent) -> QuerySet[Subscription]:
    return Subscription.objects.filter(agent=agent).select_related("account", "payment")


def subscriptions_by(claim: Claim) -> QuerySet[Subscription]:
    """What this person subscribed to, for all agents."""
    rows = Subscription.objects.filter(iss=claim.iss, sub=claim.sub).order_by("-created_at")
    return rows.select_related("agent", "account", "payment__cancellation")


def renewals_of(subscription: Subscription) -> QuerySet[Renewal]:
    return Renewal.objects.filter(subscription=subscription).select_related("subscription")


def made_by(claim: Claim) -> QuerySet[Payment]:
    """What this person paid, saved or subscribed to, for all agents, and payments that did not match."""
    shown = (*WENT_THROUGH, Payment.Status.MISMATCH)
    rows = Payment.objects.filter(iss=claim.iss, sub=claim.sub, status__in=shown)
    return rows.select_related("agent", "account", "elicitation", "cancellation", "subscription__account").order_by(
        "-created_at"
    )
