"""Revocation: it takes effect here at once, and at the provider (RFC 7009) as soon as that can be reached."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet

from elicit_flows import events
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Grant, Secret
from elicit_flows.events import wakeups
from elicit_flows.job_table import REVOCATIONS
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.kinds.oauth import revoke_grant as tell_provider
from elicit_flows.kinds.oauth.provider import OAuthProvider
from elicit_flows.lib import clock, counters, health
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import Connection, ConnectionUse, Provider, leases
from elicit_flows.models.backlog import soonest
from elicit_flows.oauth import OAuthError
from elicit_flows.vault import connections, credentials, minted, provider_settings
from elicit_flows.vault.seal import seal

log = logging.getLogger(__name__)
RETRIES = RetrySchedule.doubling(timedelta(seconds=1), timedelta(hours=3), most=30)  # about two days
# Once the provider has been told.
_FORGOTTEN = dict.fromkeys(("access_token", "token_secret", "refresh_token", "secrets", "minted", "set_tokens"), "")
Status, Upstream = Connection.Status, Connection.Upstream


def revoke(row: Connection, by: ConnectionUse.Actor = ConnectionUse.Actor.SERVICE) -> bool:
    """Revoke the connection: it gives no more tokens, and the worker tells the provider. Can be repeated: False if it
    was revoked already.
    """
    tell = _is_told(row)
    # Otherwise once the provider has been told.
    at_once = {} if tell else {"access_token": "", "token_secret": "", "secrets": "", "minted": "", "set_tokens": ""}
    with transaction.atomic():
        mine = (
            Connection.objects.filter(pk=row.pk)
            .exclude(status=Status.REVOKED)
            .update(
                status=Status.REVOKED,
                revoked_at=clock.now(),
                refresh_lease_until=None,
                refresh_due_at=None,
                dpop_key="",
                **at_once,
                upstream=Upstream.PENDING if tell else Upstream.NONE,
                upstream_next_at=clock.now() if tell else None,
            )
        )
        if mine:
            row.refresh_from_db()
            connections.log_access(row, ConnectionUse.Action.REVOKED, by)
            events.publish(row.agent, "connection.revoked", row.summary())
            transaction.on_commit(partial(wakeups.wake_workers, REVOCATIONS))
    return mine == 1


def drop_late_tokens(row: Connection) -> None:
    """Replace the tokens of a revoked connection by those of a refresh that ended after the revocation, so that the
    worker revokes the new ones. If the tokens came from the person's own client, its credentials are kept for that. If
    the provider is not told of revocations, nothing is kept.
    """
    if not _is_told(row):
        return
    Connection.objects.filter(pk=row.pk, status=Status.REVOKED).update(
        access_token=row.access_token,
        refresh_token=row.refresh_token,
        set_tokens=row.set_tokens,
        secrets=row.secrets,
        upstream=Upstream.PENDING,
        upstream_next_at=clock.now(),
    )


def is_connected(
    provider: Provider | None, account_id: str | None, variables: Mapping[str, str], ended: Connection | None = None
) -> bool:
    """Whether anybody has a connection with this account, at the shop or site that ``variables`` name. What would end
    it is then not revoked: many providers revoke all tokens of an account together.

    With ``ended``, a revoked connection, only those made or made again since count. Without a known account these are
    its person's.
    """
    same = Connection.objects.filter(provider=provider, account_id=account_id or "")
    if ended is not None:
        since = ended.revoked_at
        connected = Q(uses__action=ConnectionUse.Action.CONNECTED, uses__last_at__gte=since)
        same = same.filter(Q(created_at__gte=since) | connected)
        same = same if account_id else same.filter(iss=ended.iss, sub=ended.sub)
    live = same.exclude(status=Status.REVOKED)
    return any(one.is_at(variables) for one in live.only("variables")) if variables else live.exists()


def revoke_unkept_grant(provider: Provider, grant: Grant) -> None:
    """Revoke a grant that came too late to be stored (RFC 7009), if the provider can be reached now, unless its account
    is connected.
    """
    if is_connected(provider, grant.account_id, grant.variables):
        return
    provider = provider_settings.for_person(provider, grant.variables)
    try:
        if grant.bound_to is not None:
            provider_settings.check(provider, grant.bound_to, provider_settings.REVOCATION)
        tell_provider(
            provider_settings.oauth(provider), grant.access_token, grant.refresh_token, grant.token_secret, grant.sets
        )
    except (OAuthError, Unavailable) as error:
        log.warning("a grant that came too late could not be revoked at %s: %s", provider.slug, error)


def providers_due(without: Collection[int]) -> list[int]:
    """The primary keys of the providers at which revocations are due, except those in ``without``."""
    return [row.pk for row in _WITH_DUE.all(clock.now()) if row.pk not in without]


def _with_due(now: datetime) -> QuerySet[Provider]:
    due = soonest(_due(now).filter(provider=OuterRef("pk")), "upstream_next_at")
    return Provider.objects.alias(due=due).filter(due__isnull=False).only("pk")


_WITH_DUE = CompiledQuery(_with_due, clock.now(), prepare=False)


def revocations_due(provider: int, limit: int) -> list[Connection]:
    """The revoked connections of a provider, by its primary key, whose revocation is due; oldest first."""
    due = _due(clock.now()).filter(provider_id=provider).select_related("provider")
    return list(due.order_by("upstream_next_at")[:limit])


def _due(now: datetime) -> QuerySet[Connection]:
    return Connection.objects.filter(upstream=Upstream.PENDING, upstream_next_at__lte=now)


def tell_of_revocation(row: Connection) -> bool:
    """Revoke the connection's tokens at the provider. Called by the worker. Returns False if the provider did not
    answer, or another worker does it.
    """
    tries, until, pending = row.upstream_tries + 1, clock.now() + REVOCATIONS.lease, {"upstream": Upstream.PENDING}
    if not leases.claim(row, "upstream_next_at", only=pending, upstream_tries=tries, upstream_next_at=until):
        return False
    try:
        told = _tell_provider(row)
    except (OAuthError, Unavailable) as error:  # Unavailable: the vault cannot open it
        tries = row.upstream_tries
        slug = connections.provider_of(row).slug
        counters.count("provider_errors", slug, "revoke")
        health.failed("provider", slug, "revocation")
        log.warning("provider %s was not told of a revocation (try %d): %s", row.provider, tries, error)
        change = (
            {"upstream": Upstream.FAILED, "upstream_next_at": None, **_FORGOTTEN}
            if RETRIES.is_used_up(tries)
            else {"upstream_next_at": clock.now() + RETRIES.pause(tries)}
        )
        leases.held(row, "upstream_next_at").update(**change)
        return False
    mine = leases.held(row, "upstream_next_at")  # late tokens make the revocation due at once
    upstream = Upstream.DONE if told else Upstream.NONE
    return mine.update(upstream=upstream, upstream_next_at=None, **_FORGOTTEN) == 1


def _is_told(row: Connection) -> bool:
    """Whether the provider has to be told. Not of credentials that were typed for the agent. Of a client of the
    person's own only if the operator has configured how.
    """
    if not row.own_client:
        return not row.typed
    return bool(connections.provider_of(row).settings()["revocation_url"])


def _tell_provider(row: Connection) -> bool:
    """False if the provider offers no way to tell it, or would end a connection made since. Raises OAuthError and
    Unavailable.
    """
    provider = row.provider and provider_settings.for_person(row.provider, row.variables)
    provider_settings.check(provider, row.bound_to, provider_settings.REVOCATION)
    if row.own_client:
        config, access = (
            provider_settings.credentials_provider(connections.provider_of(row)),
            connections.opened(row, "access_token"),
        )
        if access and config.token:
            client_credentials.revoke(config.token, credentials.open_fields(row), access)
        return True
    access, refresh = connections.opened(row, "access_token"), connections.opened(row, "refresh_token")
    ended = minted.end_all(row, provider or connections.provider_of(row))
    if not (access or refresh):
        return True
    if is_connected(row.provider, row.account_id, row.variables, ended=row):
        log.info("connection %s: its account was connected again, so its revocation is not told", row.pk)
        return ended
    at = provider_settings.oauth(provider or connections.provider_of(row))
    access = access and unexpired(at, access, refresh, row.expires_at)
    secret, others = connections.opened(row, "token_secret"), connections.other_sets(row)
    return tell_provider(at, access, refresh, secret, others, partial(_keep, row)) or ended


def unexpired(
    provider: OAuthProvider, access: Secret, refresh_token: Secret | None, expires_at: datetime | None
) -> Secret | None:
    """The access token for the provider's call, or None if it has expired and the call can get a fresh one: not every
    provider says of an expired token that it is one.
    """
    expired = expires_at is not None and expires_at <= clock.now()
    return None if provider.quirks.revoke_call and refresh_token and expired else access


def _keep(row: Connection, granted: Grant) -> None:
    """Keep the tokens of a refresh that the revocation needed, for its next try."""
    change: dict[str, object] = {
        "access_token": seal(granted.access_token, connections.sealed_at(row, "access_token")),
        "expires_at": granted.expires_at,
    }
    if granted.refresh_token:
        change["refresh_token"] = seal(granted.refresh_token, connections.sealed_at(row, "refresh_token"))
    leases.held(row, "upstream_next_at").update(**change)
