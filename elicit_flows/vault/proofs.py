"""Proofs for tokens that are bound to a key (RFC 9449): the vault signs, and the key stays here."""

from __future__ import annotations

from elicit_flows.errors import Conflict
from elicit_flows.lib import oauth
from elicit_flows.models import Agent, Use
from elicit_flows.vault import connections

UNBOUND = "The token of this connection is not bound to a key: it needs no proof."


def proof(agent: Agent, connection_id: str, method: str, url: str, nonce: str | None, ath: str | None) -> str:
    """A proof for one request of the agent's with this connection's token, or with the one that hashes to ``ath``.

    Raises NotFound, ConnectionRevoked, ReauthorizationRequired, and Conflict for a token that needs none.
    """
    row = connections.usable(agent, connection_id)
    key, token = connections.dpop_key(row), connections.access_token(row)
    if key is None or token is None:
        raise Conflict(UNBOUND)
    connections.note_use(row, Use.Action.FETCHED)
    return oauth.proof(key.reveal(), method, url, nonce=nonce, ath=ath or oauth.hash_of(token.reveal()))
