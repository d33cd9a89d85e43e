"""Whose token an agent shows, so that its API key alone fetches nothing of that person's."""

from __future__ import annotations

from django.conf import settings

from elicit_flows import identity, vault
from elicit_flows.models import Agent, IdentityProvider
from elicit_flows.values import Claim


def holder(agent: Agent, token: str, sort: str) -> Claim:
    """``sort`` as RFC 8693, section 3, names it. Raises UserTokenRefused, ProviderUnavailable."""
    rows = IdentityProvider.objects.filter(agent=agent, sort=IdentityProvider.Sort.OPENID, enabled=True).order_by("pk")
    return identity.holder(token, sort, [_trusted(agent, row) for row in rows])


def _trusted(agent: Agent, row: IdentityProvider) -> identity.Trusted:
    """Such a token was issued to be shown to the agent, or to us; one meant for another program is refused."""
    op = vault.openid(row)
    ours = (settings.ELICIT_PUBLIC_URL, op.client_id)
    return identity.Trusted(op, tuple(agent.user_token_audiences) or ours, row.introspect)
