"""Credentials that users typed: sealed in one text, opened for their agent alone; or for nobody but the vault, where
they are a client of the person's own and the agent gets its tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from elicit_flows.errors import Conflict
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Provider, Use
from elicit_flows.values import Claim, Grant, Json, Secret
from elicit_flows.vault import connections, uses
from elicit_flows.vault.seal import reveal, seal


def keep_credentials(
    agent: Agent,
    claim: Claim,
    provider: Provider | None,
    label: str,
    named: Mapping[str, Secret],
    grant: Grant | None = None,
) -> Connection:
    """A connection, in the caller's transaction. With ``provider`` the one that there is already gets the new values.
    ``label`` is what the person reads at /account where there is no provider's name. ``grant`` is what the provider
    gave for a client of the person's own.
    """
    row = (provider and _present(agent, claim, provider)) or Connection(
        agent=agent, provider=provider, iss=claim.iss, sub=claim.sub, generation=0
    )
    plain = json.dumps({name: secret.reveal() for name, secret in named.items()})
    row.secrets = seal(Secret(plain), connections.where(row, "secrets"))
    row.account_label = "" if provider else label[:255]
    row.status, row.own_client = Connection.Status.ACTIVE, grant is not None
    if grant:
        connections.put(row, grant)
    else:
        _put_no_tokens(row)
    row.save()
    uses.note(row, Use.Action.CONNECTED, Use.Actor.PERSON)
    return row


def already_typed(agent: Agent, claim: Claim, provider: Provider, params: Json) -> Connection | None:
    """The connection that already holds what this provider asks for, and gives what it gives today: tokens, or what was
    typed. What is to be sealed is always asked for anew: nobody can tell here for whom the earlier values were sealed.
    """
    row = None if params["seal_to"] else connections.valid(agent, claim, provider, ())
    said = provider.settings()
    if row is None or row.own_client != bool(said["token_url"]):
        return None
    return row if opened(row).keys() == {field["name"] for field in said["fields"]} else None


def opened(row: Connection) -> dict[str, Secret]:
    """What was typed, by name; nothing where nothing is kept."""
    sealed = reveal(row.secrets, connections.where(row, "secrets"))
    kept: dict[str, str] = json.loads(sealed.reveal()) if sealed else {}
    return {name: Secret(value) for name, value in kept.items()}


def _put_no_tokens(row: Connection) -> None:
    row.access_token, row.scopes, row.expires_at = "", [], None
    row.issued_at = clock.now()
    row.generation += 1
    row.refresh_lease_until = row.refresh_started_at = row.refresh_due_at = None
    row.refresh_failures, row.last_refresh_error = 0, ""


def _present(agent: Agent, claim: Claim, provider: Provider) -> Connection | None:
    rows = Connection.objects.select_for_update().filter(agent=agent, provider=provider, iss=claim.iss, sub=claim.sub)
    return rows.exclude(status=Connection.Status.REVOKED).first()


def open_credentials(agent: Agent, connection_id: str) -> Json:
    """``{fields}``, by name. Raises NotFound, ConnectionRevoked, and Conflict for a connection that has none."""
    row = connections.usable(agent, connection_id)
    if row.own_client:
        raise Conflict("What was typed here is for tokens alone: ask for its token.")
    sealed = reveal(row.secrets, connections.where(row, "secrets"))
    if sealed is None:
        raise Conflict("This connection is of an OAuth provider: ask for its token.")
    connections.note_use(row, Use.Action.OPENED)
    return {"fields": json.loads(sealed.reveal())}
