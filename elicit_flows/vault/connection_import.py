"""Creates connections from imported tokens: each is sealed at once and gets an event."""

from __future__ import annotations

from dataclasses import replace

from elicit_flows import events
from elicit_flows.domain.values import Claim, Grant
from elicit_flows.models import Agent, Connection, ConnectionUse, Provider
from elicit_flows.vault import connections, provider_settings


def import_connection(
    agent: Agent, claim: Claim, provider: Provider, grant: Grant, by: ConnectionUse.Actor
) -> Connection | None:
    """Runs in the caller's transaction. Returns None if the account is already connected."""
    there = connections.live_connections(agent, claim, provider, lock=True)
    if any(one.account_id == (grant.account_id or "") and one.is_at(grant.variables) for one in there):
        return None
    # With the person's own addresses, so that the tokens are bound to the hosts that these name.
    provider = provider_settings.for_person(provider, grant.variables)
    if provider.quirks().renew_token and not grant.refresh_token:
        grant = replace(grant, refresh_token=grant.access_token)  # the token itself is exchanged for the next one
    row = connections.keep(agent, claim, provider, grant, by, there=there)
    events.publish(agent, "connection.imported", row.summary())
    return row
