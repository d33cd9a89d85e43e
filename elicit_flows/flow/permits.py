"""What an agent may ask for: whose users, which providers and payment accounts.

Looked up once a second, not once a request.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider

REMEMBER = 1.0  # seconds, as for API keys: a change is in force everywhere within this time
_MAX_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Permits:
    """``issuers`` are the agent's identity providers; ``providers`` and ``accounts`` by slug."""

    issuers: frozenset[str]
    providers: dict[str, Provider]
    accounts: dict[str, PaymentAccount]


_remembered: dict[int, tuple[float, Permits]] = {}


def of(agent: Agent) -> Permits:
    until, permits = _remembered.get(agent.pk, (0.0, None))
    if permits is None or until <= time.monotonic():
        if len(_remembered) > _MAX_REMEMBERED:
            _remembered.clear()
        permits = _read(agent)
        _remembered[agent.pk] = (time.monotonic() + REMEMBER, permits)
    return permits


def forget() -> None:
    """Look everything up anew: for tests that change what an agent may do."""
    _remembered.clear()


def _read(agent: Agent) -> Permits:
    issuers = IdentityProvider.objects.filter(agent=agent, enabled=True).values_list("issuer", flat=True)
    providers = Provider.objects.filter(enabled=True)
    if not agent.all_providers:
        providers = providers.filter(agent=agent)
    accounts = PaymentAccount.objects.filter(agent=agent, enabled=True)
    return Permits(frozenset(issuers), {row.slug: row for row in providers}, {row.slug: row for row in accounts})
