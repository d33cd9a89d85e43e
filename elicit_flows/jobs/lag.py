"""Lag of the background jobs: the age of the oldest row that is due, for metrics and the operators' front page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet

from elicit_flows import vault
from elicit_flows.domain.status import Status
from elicit_flows.lib import clock
from elicit_flows.models import (
    Agent,
    Attempt,
    Cancellation,
    Checkout,
    Delivery,
    Elicitation,
    Erasure,
    Inbound,
    Mandate,
    Notification,
    PaymentAccount,
    PendingGrant,
    PriceChange,
    Provider,
    Refund,
)
from elicit_flows.models.backlog import first_due
from elicit_flows.models.elicitation import UNFINISHED

# For each agent, account or provider the first row is read from an index that begins with it, so that rows that are not
# due are not read.
_RECEIVERS = Agent.objects.filter(enabled=True, webhook_disabled_at=None, webhook_failures=0)


def oldest() -> dict[str, datetime | None]:
    """By name, when the oldest row became due that no worker has claimed; None if there is none.

    elicitation: overdue and not yet expired; payment: a look, a notice, a refund, a cancellation, a change of a price,
    or the end of a mandate; code: one typed at a provider; notification: a message to a person; erasure: of a person.
    The job table names them all.
    """
    now, accounts = clock.now(), PaymentAccount.objects.all()
    ending = Mandate.objects.filter(status=Mandate.Status.ACTIVE, until__lte=now)
    payments = (
        first_due(accounts, Checkout.objects.filter(account=OuterRef("pk"), look_at__lte=now), "look_at"),
        first_due(accounts, Inbound.objects.filter(account=OuterRef("pk"), try_at__lte=now), "try_at"),
        first_due(accounts, ending.filter(account=OuterRef("pk")), "until"),
        _first(Refund.objects.filter(try_at__lte=now), "try_at"),
        _first(Cancellation.objects.filter(try_at__lte=now), "try_at"),
        _first(PriceChange.objects.filter(try_at__lte=now), "try_at"),
    )
    told = vault.Connection.objects.filter(upstream="pending", upstream_next_at__lte=now)
    revocations = (
        first_due(Provider.objects.all(), told.filter(provider=OuterRef("pk")), "upstream_next_at"),
        _first(PendingGrant.objects.filter(give_back_at__lte=now), "give_back_at"),
    )
    return {
        "delivery": first_due(_RECEIVERS, deliveries().filter(agent=OuterRef("pk")), "next_at"),
        "refresh": vault.oldest_due_refresh(),
        "elicitation": _first(overdue(), "expires_at"),
        "payment": min(filter(None, payments), default=None),
        "revocation": min(filter(None, revocations), default=None),
        "code": _first(Attempt.objects.filter(poll_at__lte=now, used_at=None), "poll_at"),
        # Messages that were not tried yet. Others follow the retry schedule, so they are not late.
        "notification": _first(Notification.objects.filter(next_at__lte=now, tries=0), "next_at"),
        "erasure": _first(Erasure.objects.filter(next_at__lte=now), "next_at"),
    }


def deliveries() -> QuerySet[Delivery]:
    """Due deliveries to endpoints without failures. Others follow the retry schedule, so they are not late."""
    rows = Delivery.objects.filter(status="pending", next_at__lte=clock.now(), lease_until=None)
    return rows.filter(agent__enabled=True, agent__webhook_disabled_at=None, agent__webhook_failures=0)


def overdue() -> QuerySet[Elicitation]:
    """Overdue elicitations, except those for which a payment may still come."""
    rows = Elicitation.objects.filter(UNFINISHED, expires_at__lte=clock.now(), payment__isnull=True)
    return rows.exclude(status=Status.SETTLING).exclude(kind="steps")


def _first(rows: QuerySet[Any], field: str) -> datetime | None:
    return rows.order_by(field).values_list(field, flat=True).first()
