"""Credentials that users typed: sealed in one text, opened for their agent alone."""

from __future__ import annotations

import json
from collections.abc import Mapping

from elicit_flows.errors import Conflict
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Provider, Use
from elicit_flows.values import Claim, Json, Secret
from elicit_flows.vault import connections, uses
from elicit_flows.vault.seal import reveal, seal


def keep_credentials(
    agent: Agent, claim: Claim, provider: Provider | None, label: str, named: Mapping[str, Secret]
) -> Connection:
    """A connection, in the caller's transaction. With ``provider`` the one that there is already gets the new values.
    ``label`` is what the person reads at /account where there is no provider's name.
    """
    row = (provider and _present(agent, claim, provider)) or Connection(
        agent=agent, provider=provider, iss=claim.iss, sub=claim.sub, generation=0
    )
    plain = json.dumps({name: secret.reveal() for name, secret in named.items()})
    row.secrets = seal(Secret(plain), connections.where(row, "secrets"))
    row.account_label = "" if provider else label[:255]
    row.status, row.last_refresh_error = Connection.Status.ACTIVE, ""
    row.issued_at = clock.now()
    row.generation += 1
    row.save()
    uses.note(row, Use.Action.CONNECTED, Use.Actor.PERSON)
    return row


def already_typed(agent: Agent, claim: Claim, provider: Provider, params: Json) -> Connection | None:
    """The connection that already holds what this provider asks for. What is to be sealed is always asked for anew:
    nobody can tell here for whom the earlier values were sealed.
    """
    row = None if params["seal_to"] else connections.valid(agent, claim, provider, ())
    if row is None:
        return None
    sealed = reveal(row.secrets, connections.where(row, "secrets"))
    kept = json.loads(sealed.reveal()) if sealed else {}
    return row if kept.keys() == {field["name"] for field in provider.settings()["fields"]} else None


def _present(agent: Agent, claim: Claim, provider: Provider) -> Connection | None:
    rows = Connection.objects.select_for_update().filter(agent=agent, provider=provider, iss=claim.iss, sub=claim.sub)
    return rows.exclude(status=Connection.Status.REVOKED).first()


def open_credentials(agent: Agent, connection_id: str) -> Json:
    """``{fields}``, by name. Raises NotFound, ConnectionRevoked, and Conflict for a connection that has none."""
    row = connections.usable(agent, connection_id)
    sealed = reveal(row.secrets, connections.where(row, "secrets"))
    if sealed is None:
        raise Conflict("This connection is of an OAuth provider: ask for its token.")
    connections.note_use(row, Use.Action.OPENED)
    return {"fields": json.loads(sealed.reveal())}
