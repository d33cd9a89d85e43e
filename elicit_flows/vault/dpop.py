"""DPoP proofs (RFC 9449): the vault signs them, and the key never leaves it."""

from __future__ import annotations

from elicit_flows import oauth
from elicit_flows.domain.errors import Conflict
from elicit_flows.models import Agent, ConnectionUse
from elicit_flows.vault import connections

UNBOUND = "The token of this connection is not bound to a key: it needs no proof."


def proof(agent: Agent, connection_id: str, method: str, url: str, nonce: str | None, ath: str | None) -> str:
    """A proof for one request of the agent with this connection's token, or with the token whose hash is ``ath``.

    Raises NotFound, ConnectionRevoked, ReauthorizationRequired, and Conflict for a token that needs no proof.
    """
    connections.require_tokens_leave(agent)
    row = connections.usable(agent, connection_id)
    key, token = connections.opened(row, "dpop_key"), connections.opened(row, "access_token")
    if key is None or token is None:
        raise Conflict(UNBOUND)
    connections.note_use(row, ConnectionUse.Action.FETCHED)
    return oauth.proof(key.reveal(), method, url, nonce=nonce, ath=ath or oauth.access_token_hash(token.reveal()))
