"""Credentials that users typed, sealed together in one text.

They are opened for the connection's agent. If they are an OAuth client of the person's own, only the vault opens them,
and the agent gets that client's tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from elicit_flows.domain.errors import Conflict
from elicit_flows.domain.values import Claim, Grant, Json, Secret
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, ConnectionUse, Provider
from elicit_flows.vault import connections, provider_settings
from elicit_flows.vault.seal import seal


def keep_credentials(
    agent: Agent,
    claim: Claim,
    provider: Provider | None,
    label: str,
    named: Mapping[str, Secret],
    grant: Grant | None = None,
) -> Connection:
    """Store typed credentials as a connection, in the caller's transaction.

    If there is already a connection to ``provider``, it gets the new values. ``label`` is what the person reads at
    /account if no provider names it. ``grant`` is what the provider granted to a client of the person's own.
    """
    there = connections.live_connections(agent, claim, provider, lock=True) if provider else []
    row = next(iter(there), None) or Connection(
        agent=agent, provider=provider, iss=claim.iss, sub=claim.sub, generation=0
    )
    plain = json.dumps({name: secret.reveal() for name, secret in named.items()})
    row.secrets = seal(Secret(plain), connections.sealed_at(row, "secrets"))
    row.account_label = "" if provider else label[:255]
    row.status, row.own_client = Connection.Status.ACTIVE, grant is not None
    row.bound_to = provider_settings.bound_hosts(provider) if provider else {}
    row.metadata = {}  # what was typed may be of another account
    if grant:
        connections.store_tokens(row, grant)
    else:
        row.access_token, row.scopes, row.expires_at = "", [], None
        row.issued_at = clock.now()
        row.generation += 1
        row.refresh_lease_until = row.refresh_started_at = row.refresh_due_at = None
        row.refresh_failures, row.last_refresh_error = 0, ""
        row.refresh_refusals, row.refused_since, row.reported_generation = 0, None, None
    row.save()
    connections.log_access(row, ConnectionUse.Action.CONNECTED, ConnectionUse.Actor.PERSON)
    return row


def already_typed(agent: Agent, claim: Claim, provider: Provider, params: Json) -> Connection | None:
    """The connection that already holds the fields that this provider asks for, and gives what it gives today: tokens,
    or the typed values.

    Fields that the browser seals to the agent's key (``seal_to``) are always asked for again, because nothing here says
    which key the earlier ones were sealed to.
    """
    row = None if params["seal_to"] else connections.valid(agent, claim, provider, ())
    said = provider.settings()
    if row is None or row.own_client != bool(said["token_url"]):
        return None
    return row if open_fields(row).keys() == {field["name"] for field in said["fields"]} else None


def open_fields(row: Connection) -> dict[str, Secret]:
    """The typed values by name; empty if none are kept."""
    sealed = connections.opened(row, "secrets")
    kept: dict[str, str] = json.loads(sealed.reveal()) if sealed else {}
    return {name: Secret(value) for name, value in kept.items()}


def open_credentials(agent: Agent, connection_id: str) -> Json:
    """The typed values by name. Raises NotFound, ConnectionRevoked, and Conflict for a connection that has none."""
    connections.require_tokens_leave(agent)
    row = connections.usable(agent, connection_id)
    if row.own_client:
        raise Conflict("The typed credentials are only used to fetch tokens. Ask for the token of this connection.")
    sealed = connections.opened(row, "secrets")
    if sealed is None:
        raise Conflict("This connection belongs to an OAuth provider. Ask for its token.")
    connections.note_use(row, ConnectionUse.Action.OPENED)
    return {"fields": json.loads(sealed.reveal())}


def existing_connection(agent: Agent, claim: Claim, provider: Provider | None, params: Json) -> Json | None:
    """The result of an elicitation that an existing connection completes."""
    if provider is None:
        return None
    if provider.sort == Provider.Sort.CREDENTIALS:
        row = already_typed(agent, claim, provider, params)
    else:
        scopes, only = params.get("scopes") or [], params.get("connection")
        row = connections.valid(agent, claim, provider, scopes, only, params.get("variables"))
    return connections.result(row) if row else None
