"""Tokens from elsewhere become connections: sealed at once, and told as an event."""

from __future__ import annotations

from elicit_flows import queue
from elicit_flows.models import Agent, Connection, Provider, Use
from elicit_flows.values import Claim, Grant
from elicit_flows.vault import connections


def bring(agent: Agent, claim: Claim, provider: Provider, grant: Grant, by: Use.Actor) -> Connection | None:
    """In the caller's transaction; None where the account is connected already."""
    if connections.same_account(agent, claim, provider, grant):
        return None
    row = connections.keep(agent, claim, provider, grant, by)
    queue.publish(agent, "connection.imported", row.summary())
    return row
