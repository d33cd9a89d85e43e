"""Credentials that users typed: sealed in one text, opened for their agent alone."""

from __future__ import annotations

import json
from collections.abc import Mapping

from elicit_flows.errors import Conflict
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection
from elicit_flows.values import Claim, Json, Secret
from elicit_flows.vault import connections
from elicit_flows.vault.seal import reveal, seal


def keep_credentials(agent: Agent, claim: Claim, label: str, named: Mapping[str, Secret]) -> Connection:
    """A connection without provider, in the caller's transaction. ``label`` is what the person reads at /account."""
    row = Connection(agent=agent, iss=claim.iss, sub=claim.sub, account_label=label[:255], issued_at=clock.now())
    plain = json.dumps({name: secret.reveal() for name, secret in named.items()})
    row.secrets = seal(Secret(plain), connections.where(row, "secrets"))
    row.save(force_insert=True)
    return row


def open_credentials(agent: Agent, connection_id: str) -> Json:
    """``{fields}``, by name. Raises NotFound, ConnectionRevoked, and Conflict for a connection that has none."""
    row = connections.usable(agent, connection_id)
    sealed = reveal(row.secrets, connections.where(row, "secrets"))
    if sealed is None:
        raise Conflict("This connection is of an OAuth provider: ask for its token.")
    connections.note_use(row)
    return {"fields": json.loads(sealed.reveal())}
