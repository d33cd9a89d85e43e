"""Giving out access tokens: refreshed when they are about to expire, once per expiry across all processes.

A refresh is claimed by lease and fence, done with no transaction open, and written only over the generation it was
made from. The loser of any race reads what the winner wrote.
"""

from __future__ import annotations

import time
from datetime import timedelta

from django.db import transaction

from elicit_flows import queue
from elicit_flows.errors import Conflict, ProviderUnavailable, ReauthorizationRequired
from elicit_flows.kinds.oauth import refresh as ask_provider
from elicit_flows.lib import clock
from elicit_flows.lib.oauth import InvalidGrant, OAuthError
from elicit_flows.models import Agent, Connection
from elicit_flows.values import Grant, Json, Secret
from elicit_flows.vault import configs, connections, revocation

LEASE = timedelta(seconds=30)  # longer than the provider's deadline, so a live holder never loses it
COOLDOWN = timedelta(seconds=2)  # after a provider did not answer, nobody asks it again for this long
PATIENCE = 35.0  # seconds that a caller waits for another's refresh
POLL = 0.05
DEFAULT_MIN_TTL = 60


def token(agent: Agent, connection_id: str, min_ttl: int = DEFAULT_MIN_TTL) -> Json:
    """An access token that lives ``min_ttl`` seconds longer, as far as the provider gives such.

    Raises NotFound, ConnectionRevoked, ReauthorizationRequired, ProviderUnavailable, and Conflict for credentials.
    """
    row = connections.usable(agent, connection_id)
    if row.secrets or row.provider_id is None:
        raise Conflict(connections.TYPED)
    if stale(row, min_ttl):
        row = _refreshed(row, min_ttl)
    connections.note_use(row)
    secret = connections.access_token(row)
    if secret is None:
        raise ReauthorizationRequired("There is no access token any more. Create a new elicitation.")
    return {
        "access_token": secret.reveal(),
        "token_type": row.token_type,
        "expires_at": clock.rfc3339(row.expires_at),
        "scopes": row.scopes,
    }


def stale(row: Connection, min_ttl: int) -> bool:
    """Whether it expires within ``min_ttl`` seconds, or half its life where that is shorter."""
    if row.expires_at is None:
        return False
    margin = min(timedelta(seconds=min_ttl), (row.expires_at - row.issued_at) / 2)
    return row.expires_at - clock.now() <= margin


def _refreshed(row: Connection, min_ttl: int) -> Connection:
    if not row.refresh_token:
        return row if _alive(row) else _reauthorize(row)
    give_up = time.monotonic() + PATIENCE
    while not _claim(row):
        if row.refresh_lease_until and time.monotonic() > give_up:
            raise ProviderUnavailable("The provider is slow to refresh this token.", retry_after=5)
        time.sleep(POLL)
        row = connections.checked(_read(row))
        if not stale(row, min_ttl):
            return row
    return _refresh(row)


def _claim(row: Connection) -> bool:
    """Take the refresh lease, or see that somebody has it."""
    now = clock.now()
    if row.refresh_lease_until and row.refresh_lease_until > now:
        return False
    row.refresh_fence += 1
    row.refresh_lease_until = now + LEASE
    taken = Connection.objects.filter(
        pk=row.pk, generation=row.generation, refresh_fence=row.refresh_fence - 1, status=Connection.Status.ACTIVE
    ).update(refresh_fence=row.refresh_fence, refresh_lease_until=row.refresh_lease_until)
    return taken == 1


def _refresh(row: Connection) -> Connection:
    secret = connections.refresh_token(row)
    config = configs.oauth(connections.provider_of(row))
    try:
        grant = ask_provider(config, secret or Secret(""), tuple(row.scopes), row.account_id or None)
    except InvalidGrant:
        return _reauthorize(row)
    except OAuthError as error:
        return _cool_down(row, error)
    return _record(row, grant)


def _record(row: Connection, grant: Grant) -> Connection:
    fence, generation = row.refresh_fence, row.generation
    connections.put(row, grant)
    fields = ("access_token", "refresh_token", "token_type", "scopes", "issued_at", "expires_at", "generation")
    with transaction.atomic():
        won = Connection.objects.filter(
            pk=row.pk, generation=generation, refresh_fence=fence, status=Connection.Status.ACTIVE
        ).update(refresh_lease_until=None, **{field: getattr(row, field) for field in fields})
        if won:
            queue.publish(row.agent, "connection.refreshed", row.summary())
    if won:
        return row
    revocation.drop_late_tokens(row)
    return connections.checked(_read(row))


def _reauthorize(row: Connection) -> Connection:
    """The grant is dead, unless somebody wrote a newer one meanwhile: then theirs is returned."""
    with transaction.atomic():
        mine = Connection.objects.filter(
            pk=row.pk,
            generation=row.generation,
            refresh_fence=row.refresh_fence,
            status=Connection.Status.ACTIVE,
        ).update(status=Connection.Status.REAUTHORIZATION_REQUIRED, refresh_lease_until=None)
        if mine:
            row.status = Connection.Status.REAUTHORIZATION_REQUIRED
            queue.publish(row.agent, "connection.reauthorization_required", row.summary())
    return connections.checked(row if mine else _read(row))


def _cool_down(row: Connection, error: Exception) -> Connection:
    """The provider did not answer: that says nothing about the grant. What still lives is given out."""
    Connection.objects.filter(pk=row.pk, refresh_fence=row.refresh_fence).update(
        refresh_lease_until=clock.now() + COOLDOWN
    )
    if _alive(row):
        return row
    raise ProviderUnavailable("The provider does not refresh the token now. Try again.", retry_after=2) from error


def _alive(row: Connection) -> bool:
    return row.expires_at is None or row.expires_at > clock.now()


def _read(row: Connection) -> Connection:
    return Connection.objects.select_related("provider", "agent").get(pk=row.pk)
