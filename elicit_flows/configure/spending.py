"""Spend limits, as an operator writes them down: ``{ currency = "usd", per_payment = 2000, per_day = 5000 }``."""

from __future__ import annotations

from typing import Any, NamedTuple

from elicit_flows.configure.faults import Wrong
from elicit_flows.kinds.payment.params import MAX_AMOUNT
from elicit_flows.lib import money
from elicit_flows.models import Agent, SpendLimit

MAX_PER_DAY = 100 * MAX_AMOUNT
_NAMES = {"currency", "per_payment", "per_day"}


class Limit(NamedTuple):
    """In minor units; None is no limit of that kind."""

    currency: str
    per_payment: int | None
    per_day: int | None


def spend_limit(value: Any) -> Limit:
    """Raises Wrong."""
    if not isinstance(value, dict) or "currency" not in value or not value.keys() <= _NAMES or len(value) < 2:
        raise Wrong('must be { currency = "usd", per_payment = 2000, per_day = 5000 }, with one of the two or both')
    currency = checked_currency(value["currency"])
    per_payment, per_day = value.get("per_payment"), value.get("per_day")
    for name, amount, most in (("per_payment", per_payment, MAX_AMOUNT), ("per_day", per_day, MAX_PER_DAY)):
        if amount is not None and not (type(amount) is int and 0 <= amount <= most):
            raise Wrong(f"{name} must be a whole number of minor units from 0 to {most}: 2000 is 20.00 USD")
    return Limit(currency, per_payment, per_day)


def checked_currency(value: Any) -> str:
    if not isinstance(value, str) or money.digits(value) is None:
        raise Wrong("the currency must be one that is accepted here, in lower case, such as eur")
    return value


def put_limits(agent: Agent, wanted: list[Limit]) -> list[str]:
    """The agent's limits are these and no others; what changed. The agent has its row already."""
    named = {limit.currency: limit for limit in wanted}  # one for a currency: the last
    present = {row.currency: Limit(row.currency, row.per_payment, row.per_day) for row in agent.spend_limits.all()}
    if named == present:
        return []
    agent.spend_limits.exclude(currency__in=named).delete()
    for limit in named.values():
        held = {"per_payment": limit.per_payment, "per_day": limit.per_day}
        SpendLimit.objects.update_or_create(agent=agent, currency=limit.currency, defaults=held)
    return ["spend_limits"]
