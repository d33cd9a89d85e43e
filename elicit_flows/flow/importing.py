"""bring: an agent or an operator brings tokens that a person's account was connected with elsewhere before."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from elicit_flows import vault
from elicit_flows.errors import Invalid
from elicit_flows.flow import permits
from elicit_flows.models import Agent, Provider
from elicit_flows.values import Claim, Grant

_BOUND = "Tokens of this provider are bound to a key that stays here, so none can be brought; ask the user."


def bring(agent: Agent, claim: Claim, provider: str, grant: Grant, by: vault.Use.Actor) -> vault.Connection | None:
    """The connection; None where this account is connected already, which is left as it is: its tokens may be newer.

    Raises Invalid as ``create`` does.
    """
    row = check_brought(agent, claim, provider)
    try:
        with transaction.atomic():
            return vault.bring(agent, claim, row, grant, by)
    except IntegrityError:  # connected just now
        return None


def check_brought(agent: Agent, claim: Claim, slug: str) -> Provider:
    """The provider, if the agent may ask these users for it. Writes nothing. Raises Invalid."""
    allowed = permits.of(agent)
    if claim.iss not in allowed.issuers:
        raise Invalid.at("subject.iss", "This is not the issuer of an identity provider that this agent may use.")
    row = allowed.providers.get(slug)
    if row is None or row.sort != Provider.Sort.OAUTH:
        raise Invalid.at("provider", f"There is no OAuth provider {slug!r} that this agent may use.")
    if row.dpop == "required":
        raise Invalid.at("provider", _BOUND)
    return row
