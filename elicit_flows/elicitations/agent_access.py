"""Which identity providers, providers and payment accounts an agent may use.

This is cached for a second, so that not every request reads it from the database.
"""

from __future__ import annotations

from dataclasses import dataclass

from elicit_flows.kinds.x402 import wallet
from elicit_flows.lib.ttl_cache import TtlCache
from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider

OTHER_ISSUER = "This is not the issuer of an identity provider that this agent may use; GET /v1/agent lists them."


@dataclass(frozen=True, slots=True)
class Permits:
    """``issuers`` are the agent's identity providers; the others by slug. ``wallets`` are the payment accounts that
    pay, ``accounts`` those that are paid.
    """

    issuers: frozenset[str]
    providers: dict[str, Provider]
    accounts: dict[str, PaymentAccount]
    wallets: dict[str, PaymentAccount]


# By the agent's primary key. One second, as for API keys: a change takes effect in all processes within this time.
_remembered: TtlCache[int, Permits] = TtlCache(1.0, most=1000)


def of(agent: Agent) -> Permits:
    permits = _remembered.get(agent.pk)
    if permits is None:
        issuers = IdentityProvider.objects.filter(agent=agent, enabled=True).values_list("issuer", flat=True)
        providers = Provider.objects.filter(enabled=True, mcp="")
        if not agent.all_providers:
            providers = providers.filter(agent=agent)
        accounts = {row.slug: row for row in PaymentAccount.objects.filter(agent=agent, enabled=True)}
        wallets = {slug: row for slug, row in accounts.items() if row.provider == wallet.PROVIDER}
        paid = {slug: row for slug, row in accounts.items() if slug not in wallets}
        permits = Permits(frozenset(issuers), {row.slug: row for row in providers}, paid, wallets)
        _remembered.put(agent.pk, permits)
    return permits


def forget() -> None:
    """Clear the cache. For tests that change what an agent may do."""
    _remembered.clear()
