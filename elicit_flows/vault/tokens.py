"""Giving out access tokens: renewed when they are about to expire, once per expiry across all processes."""

from __future__ import annotations

import time
from datetime import timedelta

from elicit_flows.errors import Conflict, ProviderUnavailable, ReauthorizationRequired, Unavailable
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Use
from elicit_flows.values import Json
from elicit_flows.vault import connections, refreshing

PATIENCE = 35.0  # seconds that a caller waits for another's refresh
POLL = 0.05
DEFAULT_MIN_TTL = 60


def token(agent: Agent, connection_id: str, min_ttl: int | None = None) -> Json:
    """An access token that lives ``min_ttl`` seconds longer, as far as the provider gives such.

    Raises NotFound, ConnectionRevoked, ReauthorizationRequired, ProviderUnavailable, and Conflict for credentials.
    """
    row = connections.usable(agent, connection_id)
    if not row.own_client and (row.secrets or row.provider_id is None):
        raise Conflict(connections.TYPED)
    if stale(row, min_ttl):
        row = _refreshed(row, min_ttl)
    connections.note_use(row, Use.Action.FETCHED)
    secret = connections.access_token(row)
    if secret is None:
        raise ReauthorizationRequired("There is no access token any more. Create a new elicitation.")
    return {
        "access_token": secret.reveal(),
        "token_type": row.token_type,
        "expires_at": clock.rfc3339(row.expires_at),
        "scopes": row.scopes,
    }


def stale(row: Connection, min_ttl: int | None) -> bool:
    """Whether it expires within ``min_ttl`` seconds, or half its life where that is shorter.

    An agent that does not say gets a minute, or a tenth of a short life: a token of a minute serves for most of it.
    """
    if row.expires_at is None:
        return False
    most = (row.expires_at - row.issued_at) / (10 if min_ttl is None else 2)
    wanted = timedelta(seconds=DEFAULT_MIN_TTL if min_ttl is None else min_ttl)
    return row.expires_at - clock.now() <= min(wanted, most)


def _refreshed(row: Connection, min_ttl: int | None) -> Connection:
    """Refreshed by this caller or by the one who is at it. What still lives is given out when the provider is down."""
    if not row.renewable:
        return row if connections.alive(row) else connections.checked(refreshing.end(row, "expired"))
    if connections.alive(row) and _resting(row):
        return row
    give_up = time.monotonic() + PATIENCE
    while not refreshing.claim(row):
        if row.refresh_lease_until and time.monotonic() > give_up:
            raise ProviderUnavailable("The provider is slow to refresh this token.", retry_after=5)
        time.sleep(POLL)
        row = connections.checked(refreshing.read(row))
        if not stale(row, min_ttl):
            return row
    outcome = refreshing.ask(row)
    row = connections.checked(refreshing.settle(row, outcome))
    if isinstance(outcome, Unavailable):
        raise outcome
    if not connections.alive(row):
        raise ProviderUnavailable("The provider does not refresh the token now. Try again.", retry_after=2)
    return row


def _resting(row: Connection) -> bool:
    """Whether its provider was asked in vain just now: whoever has a token that lives need not wait for it again."""
    due = row.refresh_due_at
    return row.refresh_failures > 0 and due is not None and due > clock.now()
