"""Refreshing tokens: the lease, the request, and recording the outcome. ``refresh_schedule`` says when it is due."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction

from elicit_flows import events
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Grant, Json, Secret
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.kinds.oauth import refresh as ask_provider
from elicit_flows.lib import clock, counters, health
from elicit_flows.lib.compiled_query import CompiledQuery, compare_and_set
from elicit_flows.models import Agent, Connection, ConnectionUse, leases
from elicit_flows.oauth import CLIENT_LOST, IDENTITY_CHANGED, ClientRefused, InvalidGrant, OAuthError, ProviderError
from elicit_flows.vault import connections, credentials, managed, provider_settings, revocation
from elicit_flows.vault.refresh_schedule import LEASE, next_refresh, refused_to_death

log = logging.getLogger(__name__)

# Errors that only the person can fix, with another secret or at the provider. The operator has to fix the others.
CLIENT_OVER = frozenset({"invalid_client", "unauthorized_client"})
COOLDOWN = timedelta(seconds=2)  # how long nobody asks a provider again after it did not answer

Outcome = Grant | OAuthError | Unavailable
Tell = Callable[[Agent, str, Json], object]
Status = Connection.Status
_FENCE = ("generation", "refresh_fence")  # a new grant increments the first, a claim the second


# Of the given (id, generation, fence): rows that are unchanged since they were read, and not locked.
_CLAIM = """
    WITH free AS MATERIALIZED (
        SELECT row.id FROM unnest(%s::text[], %s::int[], %s::int[]) AS seen (id, generation, refresh_fence)
        JOIN elicit_flows_connection AS row USING (id, generation, refresh_fence)
        WHERE row.status = 'active' FOR UPDATE OF row SKIP LOCKED
    )
    UPDATE elicit_flows_connection AS row SET refresh_fence = row.refresh_fence + 1, refresh_lease_until = %s,
        refresh_started_at = %s, refresh_due_at = %s
    FROM free WHERE row.id = free.id RETURNING row.id
"""


def claim(row: Connection) -> bool:
    """Take the refresh lease. Returns whether it was free."""
    change = _lease(row, clock.now())
    return change is not None and leases.claim(row, *_FENCE, only={"status": Status.ACTIVE}, **change)


def claim_all(found: Sequence[Connection]) -> list[Connection]:
    """Claim many in one statement. Returns those whose lease was free."""
    now = clock.now()
    free = [(row, change) for row in found if (change := _lease(row, now))]
    if connection.vendor != "postgresql" or not free:
        return [row for row, _ in free if claim(row)]
    seen = zip(*((row.pk, row.generation, row.refresh_fence) for row, _ in free), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [*map(list, seen), now + LEASE, now, now + LEASE])
        taken = {pk for (pk,) in cursor.fetchall()}
    claimed = [(row, change) for row, change in free if row.pk in taken]
    for row, change in claimed:
        for column, value in change.items():
            setattr(row, column, value)
    return [row for row, _ in claimed]


def _lease(row: Connection, now: datetime) -> dict[str, Any] | None:
    """What a claim changes; _CLAIM says the same. None while somebody else holds the lease."""
    if row.refresh_lease_until and row.refresh_lease_until > now:
        return None
    ends = now + LEASE
    changed = {"refresh_lease_until": ends, "refresh_started_at": now, "refresh_due_at": ends}
    return {"refresh_fence": row.refresh_fence + 1, **changed}


def ask(row: Connection) -> Outcome:
    """The provider's answer, or the reason why it was not asked. Uses no database if the row's provider is loaded."""
    try:
        provider = row.provider and provider_settings.for_person(row.provider, row.variables)
        provider_settings.check(provider, row.bound_to, provider_settings.REFRESH)
        if row.own_client:
            own = provider_settings.credentials_provider(connections.provider_of(row))
            if own.token is None:
                removed = "The operator has removed the address where tokens are requested."
                return ProviderError("not_allowed", removed)
            return client_credentials.ask(own.token, credentials.open_fields(row))
        secret = connections.opened(row, "refresh_token")
        config = provider_settings.oauth(provider or connections.provider_of(row))
        if row.resource:  # whatever the MCP server names by now, the new token is for what the person allowed
            config = replace(config, resources=(row.resource,))
        if row.managed_by:
            return managed.renewed(row, connections.provider_of(row), config)
        account, key = row.account_id or None, connections.opened(row, "dpop_key")
        return ask_provider(config, secret or Secret(""), tuple(row.scopes), account, key, connections.other_sets(row))
    except (OAuthError, Unavailable) as error:
        return error


def settle(row: Connection, outcome: Outcome, tell: Tell = events.publish) -> Connection:
    """Record the outcome of the claim, and ``tell`` the agent in the same transaction.

    Returns the connection as it is then, whoever wrote it.
    """
    if not isinstance(outcome, Grant):
        return _not_refreshed(row, outcome, tell)
    fence = _held(row)  # with the generation that was read; the grant changes it
    connections.store_tokens(row, outcome)
    with transaction.atomic(savepoint=False):
        won = compare_and_set(row, fence, {field: getattr(row, field) for field in connections.OF_A_GRANT})
        if won:
            connections.log_access(row, ConnectionUse.Action.REFRESHED, ConnectionUse.Actor.SERVICE)
            tell(row.agent, "connection.refreshed", row.summary())
            transaction.on_commit(partial(_count, row, "refreshed"))
            transaction.on_commit(partial(health.succeeded, "provider", connections.provider_of(row).slug))
    if won:
        return row
    revocation.drop_late_tokens(row)
    return read(row)


def _not_refreshed(row: Connection, error: OAuthError | Unavailable, tell: Tell) -> Connection:
    """End the grant if the provider says that it is over, or has refused often and long enough. Otherwise record that
    it did not answer, which ends no grant, or that it refused, which is counted.
    """
    over: str | None = None
    if isinstance(error, InvalidGrant) or (isinstance(error, ClientRefused) and error.code in CLIENT_OVER):
        over = error.code
    elif isinstance(error, provider_settings.HostChanged):
        over = provider_settings.MOVED
    elif isinstance(error, ProviderError):
        log.warning("connection %s was not refreshed: %s %s", row.pk, error, error.said)
        if error.of_the_grant or _needs_the_person(row, error):
            row.refresh_refusals += 1
            row.refused_since = row.refused_since or clock.now()
            if refused_to_death(row):
                over = error.code
    if over is not None:
        return end(row, over, tell)
    _count(row, "refused" if isinstance(error, ProviderError) else "unavailable")
    slug = connections.provider_of(row).slug
    counters.count("provider_errors", slug, "refresh")
    health.failed("provider", slug, _code(error))
    row.refresh_failures += 1
    row.refresh_started_at = clock.now()
    failed = {
        "refresh_lease_until": clock.now() + COOLDOWN,
        "refresh_started_at": row.refresh_started_at,
        "refresh_due_at": next_refresh(row),
        "refresh_failures": row.refresh_failures,
        "refresh_refusals": row.refresh_refusals,
        "refused_since": row.refused_since,
        "last_refresh_error": _code(error),
    }
    compare_and_set(row, _held(row), failed)
    return read(row)


def _needs_the_person(row: Connection, error: ProviderError) -> bool:
    """Whether nobody else can correct an error that is not of the grant: a client of their own may be gone, or the one
    that this service registered by itself, or the token endpoint answers for another account.
    """
    if error.code == IDENTITY_CHANGED:
        return True
    if isinstance(error, ClientRefused):
        return error.code == "access_denied"
    dynamic = connections.provider_of(row).registration == "dynamic" and not row.managed_by
    return dynamic and error.code in CLIENT_LOST


def end(row: Connection, why: str, tell: Tell = events.publish) -> Connection:
    """End the grant and tell its agent. If a newer grant was stored meanwhile, keep that one and return it."""
    with transaction.atomic(savepoint=False):
        ended = {
            "status": Status.REAUTHORIZATION_REQUIRED,
            "refresh_lease_until": None,
            "refresh_started_at": None,
            "refresh_due_at": None,
            "last_refresh_error": why,
        }
        mine = compare_and_set(row, _held(row), ended)
        if mine:
            row = read(row)
            connections.log_access(row, ConnectionUse.Action.LAPSED, ConnectionUse.Actor.PROVIDER)
            tell(row.agent, "connection.reauthorization_required", row.summary())
            transaction.on_commit(partial(_count, row, "dead"))
    return row if mine else read(row)


def _held(row: Connection) -> dict[str, Any]:
    """What the row has in the database while the claim is still valid and the connection is neither revoked nor
    dead.
    """
    return {"status": Status.ACTIVE, **{column: getattr(row, column) for column in _FENCE}}


_WITH_ALL = CompiledQuery(lambda pk: Connection.objects.select_related("provider", "agent").filter(pk=pk), "cn")


def read(row: Connection) -> Connection:
    return _WITH_ALL.get(row.pk)


def _count(row: Connection, outcome: str) -> None:
    if not row.typed:
        counters.count("refreshes", connections.provider_of(row).slug, outcome)


def _code(error: OAuthError | Unavailable) -> str:
    """A short code of the error for the API and the admin, with nothing of the user in it."""
    if isinstance(error, ProviderError):
        return error.code
    return "unreadable" if isinstance(error, Unavailable) else "provider_unavailable"
