"""Whether an existing connection answers a question, so that nobody need be asked."""

from __future__ import annotations

from elicit_flows.models import Agent, Provider
from elicit_flows.values import Claim, Json
from elicit_flows.vault import connections, credentials


def already(agent: Agent, claim: Claim, provider: Provider | None, params: Json) -> Json | None:
    """The result of an elicitation that an existing connection answers."""
    if provider is None:
        return None
    if provider.sort == Provider.Sort.CREDENTIALS:
        row = credentials.already_typed(agent, claim, provider, params)
    else:
        row = connections.valid(agent, claim, provider, params.get("scopes") or [], params.get("connection"))
    return connections.result(row) if row else None
