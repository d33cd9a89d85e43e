"""Access tokens for agents, refreshed shortly before they expire, once per expiry across all processes."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from datetime import timedelta

from elicit_flows.domain.errors import (
    Conflict,
    FlowError,
    InvalidScope,
    ProviderUnavailable,
    ReauthorizationRequired,
    Unavailable,
)
from elicit_flows.domain.values import Json
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, ConnectionUse
from elicit_flows.oauth import ProviderError
from elicit_flows.vault import connections, refresh
from elicit_flows.vault.refresh_schedule import ends_at, next_try

WAIT_FOR_REFRESH = 35.0  # seconds that a caller waits for another caller's refresh
# Seconds between two looks of a caller that waits: at first, and at most. Many may wait for a provider that hangs.
POLL, POLL_AT_MOST = 0.05, 0.4
DEFAULT_MIN_TTL = 60


def token(agent: Agent, connection_id: str, min_ttl: int | None = None, scope_set: str | None = None) -> Json:
    """An access token that is valid for ``min_ttl`` more seconds, if the provider issues such tokens. ``scope_set``:
    the token of these scopes, in place of the usual one.

    Raises InvalidScope for a set without a token, NotFound, ConnectionRevoked, ReauthorizationRequired,
    ProviderUnavailable, and Conflict for credentials.
    """
    connections.require_tokens_leave(agent)
    row = connections.usable(agent, connection_id)
    if not gives_tokens(row):
        raise Conflict(connections.TYPED)
    row = refreshed(row, min_ttl)
    connections.note_use(row, ConnectionUse.Action.FETCHED)
    return answer_of_set(row, scope_set) if scope_set else answer(row)


def fresh_tokens(asked: set[tuple[int, str]]) -> dict[tuple[int, str], Json]:
    """What ``token`` returns for each of these connections, named with their agents, where its row is all that this
    takes. If something has to be refreshed, recorded or refused, it is left out. One SELECT for all.
    """
    found = {}
    for row in connections.all_usable(asked):
        if gives_tokens(row) and not stale(row, None) and connections.use_is_noted(row):
            with suppress(FlowError):
                found[row.agent_id, row.pk] = answer(row)
    return found


def gives_tokens(row: Connection) -> bool:
    """Whether agents get tokens of it, and not what the user typed."""
    return row.own_client or not (row.secrets or row.provider_id is None)


def answer(row: Connection) -> Json:
    """What an agent gets of the token that the row has now."""
    secret = connections.opened(row, "token_secret")
    # Without the scopes of other sets, whose tokens are others.
    others = tuple(f"{name}/" for name in connections.other_sets(row))
    return {
        "access_token": access_token(row),
        "token_secret": secret.reveal() if secret else None,
        "token_type": row.token_type,
        "expires_at": clock.rfc3339(row.expires_at),
        "scopes": [scope for scope in row.scopes if not scope.startswith(others)] if others else row.scopes,
        "metadata": row.metadata,
        "resource": row.resource or None,
    }


def answer_of_set(row: Connection, name: str) -> Json:
    """What an agent gets of the token of another scope set. Raises InvalidScope and ProviderUnavailable."""
    found = connections.other_sets(row).get(name)
    if found is None:
        raise InvalidScope(f"This connection has no token for {name}. Ask the user for scopes that begin with {name}/.")
    if found.expires_at and found.expires_at <= clock.now():
        raise ProviderUnavailable("The provider does not refresh this token now. Try again.", retry_after=30)
    said = {"access_token": found.access_token.reveal(), "expires_at": clock.rfc3339(found.expires_at)}
    return {**answer(row), **said, "scopes": list(found.scopes)}


def access_token(row: Connection) -> str:
    """Raises ReauthorizationRequired where there is none."""
    secret = connections.opened(row, "access_token")
    if secret is None:
        raise ReauthorizationRequired("There is no access token any more. Create a new elicitation.")
    return secret.reveal()


def stale(row: Connection, min_ttl: int | None) -> bool:
    """Whether the token expires within ``min_ttl`` seconds, or within half its lifetime if that is shorter.

    Without ``min_ttl`` it is a minute, or a tenth of the lifetime if that is shorter: a token that is valid for one
    minute is used for most of it.
    """
    if row.withheld:
        return True
    if row.expires_at is None:
        return False
    most = (row.expires_at - row.issued_at) / (10 if min_ttl is None else 2)
    wanted = timedelta(seconds=DEFAULT_MIN_TTL if min_ttl is None else min_ttl)
    return row.expires_at - clock.now() <= min(wanted, most)


def refreshed(row: Connection, min_ttl: int | None) -> Connection:
    """The connection; if its token is ``stale``, after a refresh by this caller, or by another one that has the lease.
    If the provider cannot be reached, a token that has not expired is still given out.
    """
    if not stale(row, min_ttl):
        return row
    if not row.renewable:
        return row if connections.alive(row) else connections.require_usable(refresh.end(row, "expired"))
    due = row.refresh_due_at
    serves = connections.alive(row) and not row.withheld
    if serves and row.refresh_failures > 0 and due is not None and due > clock.now():
        return row  # the provider has just failed to answer: this caller does not wait for it again
    row, claimed = _claim(row, min_ttl)
    if not claimed:
        return row
    outcome = refresh.ask(row)
    row = connections.require_usable(refresh.settle(row, outcome))
    if isinstance(outcome, Unavailable):
        raise outcome
    if connections.alive(row) and not row.withheld:
        return row
    _check_refused(row)
    if isinstance(outcome, ProviderError):
        what = f"The provider did not refresh the token ({outcome.code}); the operator may have to put that right."
        raise ProviderUnavailable(what, retry_after=30)
    raise ProviderUnavailable("The provider does not refresh the token now. Try again.", retry_after=2)


def _claim(row: Connection, min_ttl: int | None) -> tuple[Connection, bool]:
    """The connection as it is now, with its provider and agent, and whether it is to be refreshed by this caller. Waits
    while another one has the lease.
    """
    give_up, pause = time.monotonic() + WAIT_FOR_REFRESH, POLL
    while True:
        row = connections.require_usable(refresh.read(row))
        if not stale(row, min_ttl):
            return row, False
        _check_refused(row)
        if refresh.claim(row):
            return row, True
        if row.refresh_lease_until and time.monotonic() > give_up:
            raise ProviderUnavailable("The provider is slow to refresh this token.", retry_after=5)
        time.sleep(pause)
        pause = min(pause * 1.5, POLL_AT_MOST)


def _check_refused(row: Connection) -> None:
    """Raise ProviderUnavailable if the provider refused the last refresh and the next try is not due yet."""
    now = clock.now()
    if not row.refresh_refusals or (due := next_try(row)) <= now:
        return
    times = "once" if row.refresh_refusals == 1 else f"{row.refresh_refusals} times"
    raise ProviderUnavailable(
        f"The provider refused to refresh this token {times} since {clock.rfc3339(row.refused_since)} "
        f"({row.last_refresh_error}). It is asked again; if it still refuses after {clock.rfc3339(ends_at(row))}, the "
        "user has to be asked.",
        retry_after=math.ceil((due - now).total_seconds()),
    )
