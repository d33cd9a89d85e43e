"""Limits on what an agent may take from one person, checked when it asks.

A payment that may still be made counts as spent. Of a subscription, the first period counts.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F, Q, Sum

from elicit_flows.domain.errors import OverLimit
from elicit_flows.domain.values import Claim
from elicit_flows.lib import amounts, clock
from elicit_flows.models import Agent, Payment, SpendLimit

DAY = timedelta(hours=24)


def check_limits(agent: Agent, claim: Claim, amount: int, currency: str) -> None:
    """Check the limits in the transaction that creates the payment, so that two requests cannot both use up the rest.

    An agent with limits may use only the currencies that they name. Raises OverLimit.
    """
    limits = {row.currency: row for row in SpendLimit.objects.select_for_update().filter(agent=agent)}
    if not limits or amount == 0:
        return
    asked = {"amount": amount, "currency": currency}
    limit = limits.get(currency)
    if limit is None:
        raise OverLimit(f"This agent may take payments in {', '.join(sorted(limits))}, not in {currency}.", asked)
    if limit.per_payment is not None and amount > limit.per_payment:
        raise OverLimit(f"This agent may ask for at most {_shown(limit.per_payment, currency)} at a time.", asked)
    if limit.per_day is not None:
        left = max(0, limit.per_day - spent(agent, claim, currency))
        if amount > left:
            raise OverLimit(
                f"This agent may take at most {_shown(limit.per_day, currency)} from one person in 24 hours; "
                f"{_shown(left, currency)} is left.",
                asked,
            )


def spent(agent: Agent, claim: Claim, currency: str) -> int:
    """Minor units in the last 24 hours: paid and not refunded, or still to be paid."""
    since = clock.now() - DAY
    rows = Payment.objects.filter(agent=agent, iss=claim.iss, sub=claim.sub, currency=currency)
    rows = rows.filter(Q(created_at__gt=since) | Q(paid_at__gt=since) | Q(status__in=_WAITING))
    total = rows.exclude(status=Payment.Status.CLOSED).aggregate(sum=Sum(F("amount") - F("refunded")))["sum"]
    return int(total or 0)


_WAITING = (Payment.Status.OPEN, Payment.Status.PROCESSING)


def _shown(amount: int, currency: str) -> str:
    return amounts.show(amount, currency, "en")
