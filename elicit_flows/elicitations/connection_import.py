"""Imports tokens that were granted elsewhere, by the agent or the operator."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import IntegrityError, transaction

from elicit_flows import vault
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Claim, Grant
from elicit_flows.elicitations import agent_access, variables
from elicit_flows.models import Agent, Provider

_BOUND = "Tokens of this provider are bound to a key of this service, so they cannot be imported; ask the user."
_TWO_PARTS = "Tokens of OAuth 1.0a have two parts and cannot be imported; ask the user."


def import_connection(
    agent: Agent, claim: Claim, provider: str, grant: Grant, by: vault.ConnectionUse.Actor
) -> vault.Connection | None:
    """Create a connection from the tokens in ``grant``, and return it. Raises Invalid like ``check_import``.

    None if this account is connected already. That connection stays as it is, because its tokens may be newer.
    """
    row = check_import(agent, claim, provider, grant.variables)
    try:
        with transaction.atomic():
            return vault.import_connection(agent, claim, row, grant, by)
    except IntegrityError:  # connected just now
        return None


def check_import(agent: Agent, claim: Claim, slug: str, named: Mapping[str, str]) -> Provider:
    """The provider with this slug. Raises Invalid unless the agent may import its tokens for this user, and ``named``
    says what the provider's addresses leave to the person.
    """
    allowed = agent_access.of(agent)
    if claim.iss not in allowed.issuers:
        raise Invalid.at("subject.iss", agent_access.OTHER_ISSUER)
    row = allowed.providers.get(slug)
    if row is None or row.sort != Provider.Sort.OAUTH:
        raise Invalid.at(
            "provider", "There is no OAuth provider with this slug that this agent may use; GET /v1/agent lists them."
        )
    if row.dpop == "required":
        raise Invalid.at("provider", _BOUND)
    if row.quirks().oauth1:
        raise Invalid.at("provider", _TWO_PARTS)
    variables.check_imported(row, named)
    return row
