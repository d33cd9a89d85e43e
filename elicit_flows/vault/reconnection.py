"""Connecting again what was connected before: which connection that is, and what it may do already."""

from __future__ import annotations

from elicit_flows.models import Agent, Connection, Elicitation, Provider
from elicit_flows.values import Claim, Json
from elicit_flows.vault import connections


def reconnectable(agent: Agent, claim: Claim, provider: Provider, connection_id: str) -> Connection | None:
    """The connection of that id, if it is this agent's and this person's, at this provider, and not revoked."""
    rows = connections.owned(agent).filter(pk=connection_id, iss=claim.iss, sub=claim.sub, provider=provider)
    return rows.exclude(status=Connection.Status.REVOKED).first()


def reconnecting(row: Elicitation) -> Connection | None:
    """What this elicitation is to connect again, if anything."""
    if not row.params.get("connection"):
        return None
    rows = connections.owned(row.agent).filter(pk=row.params["connection"], iss=row.iss, sub=row.sub)
    return rows.exclude(status=Connection.Status.REVOKED).first()


def with_held_scopes(agent: Agent, claim: Claim, provider: Provider, params: Json) -> Json:
    """``params`` with the scopes that the connection has already, so that asking for more takes nothing away.

    That is the connection which ``params`` names, or the only one that is active.
    """
    if params.get("connection"):
        named = reconnectable(agent, claim, provider, params["connection"])
        rows = [named] if named else []
    elif connections.any_active(agent, claim, provider):
        active = connections.owned(agent).filter(iss=claim.iss, sub=claim.sub, provider=provider)
        rows = list(active.filter(status=Connection.Status.ACTIVE)[:2])
    else:
        return params
    held = rows[0].scopes if len(rows) == 1 else []
    return {**params, "scopes": list(dict.fromkeys([*held, *params["scopes"]]))}
