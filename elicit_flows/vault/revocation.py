"""Revoking: at once here, and at the provider (RFC 7009) as soon as it listens."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

from django.db import transaction

from elicit_flows import queue
from elicit_flows.errors import Unavailable
from elicit_flows.kinds.credentials import own_client
from elicit_flows.kinds.oauth import revoke as tell_provider
from elicit_flows.lib import clock, tally
from elicit_flows.lib.oauth import OAuthError
from elicit_flows.models import Connection, Provider, Use
from elicit_flows.queue import bell
from elicit_flows.values import Grant
from elicit_flows.vault import configs, connections, credentials, uses

log = logging.getLogger(__name__)
LEASE = timedelta(seconds=60)
MAX_TRIES = 30  # with the delays below about three days
_FORGOTTEN = {"access_token": "", "refresh_token": "", "secrets": ""}  # nobody need be told any more
Status, Upstream = Connection.Status, Connection.Upstream


def revoke(row: Connection, by: Use.Actor = Use.Actor.SERVICE) -> None:
    """Nobody gets a token from it any more; the provider is told by the worker. Harmless when repeated."""
    tell = _is_told(row)
    at_once = {} if tell else {"access_token": "", "secrets": ""}  # else once the provider was told
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
            uses.note(row, Use.Action.REVOKED, by)
            queue.publish(row.agent, "connection.revoked", row.summary())
            transaction.on_commit(partial(bell.ring_workers, bell.Work.SWEEP))


def drop_late_tokens(row: Connection) -> None:
    """A refresh that ended after the revocation brought new tokens: they replace the old ones on the way out, with the
    client that they were asked for with, where it was a person's own. Where nobody is told they are kept nowhere.
    """
    if not _is_told(row):
        return
    Connection.objects.filter(pk=row.pk, status=Status.REVOKED).update(
        access_token=row.access_token,
        refresh_token=row.refresh_token,
        secrets=row.secrets,
        upstream=Upstream.PENDING,
        upstream_next_at=clock.now(),
    )


def drop(provider: Provider, grant: Grant) -> None:
    """Give back a grant that came too late to be kept (RFC 7009), if the provider listens now."""
    token, hint = (
        (grant.refresh_token, "refresh_token") if grant.refresh_token else (grant.access_token, "access_token")
    )
    try:
        tell_provider(configs.oauth(provider), token, hint)
    except OAuthError as error:
        log.warning("a grant that came too late could not be given back to %s: %s", provider.slug, error)


def tell_due_providers(limit: int = 20) -> int:
    """Tell the providers of revoked connections; how many were told. Called by the worker."""
    due = Connection.objects.filter(upstream=Upstream.PENDING, upstream_next_at__lte=clock.now())
    return sum(_tell(row) for row in due.select_related("provider").order_by("upstream_next_at")[:limit])


def _tell(row: Connection) -> bool:
    now = clock.now()
    claimed = Connection.objects.filter(pk=row.pk, upstream=Upstream.PENDING, upstream_tries=row.upstream_tries).update(
        upstream_tries=row.upstream_tries + 1, upstream_next_at=now + LEASE
    )
    if not claimed:
        return False
    try:
        _tell_provider(row)
    except (OAuthError, Unavailable) as error:  # Unavailable: the vault cannot open it
        return _later(row, error)
    mine = Connection.objects.filter(
        pk=row.pk,
        upstream_tries=row.upstream_tries + 1,
        refresh_token=row.refresh_token,
        access_token=row.access_token,
    )
    return mine.update(upstream=Upstream.DONE, upstream_next_at=None, **_FORGOTTEN) == 1


def _is_told(row: Connection) -> bool:
    """Whether there is anything to tell the provider: not of what was typed for the agent, and of a client of the
    person's own where the operator says how.
    """
    if not row.own_client:
        return not row.typed
    return bool(connections.provider_of(row).settings()["revocation_url"])


def _tell_provider(row: Connection) -> None:
    if row.own_client:
        config, access = configs.credentials_provider(connections.provider_of(row)), connections.access_token(row)
        if access and config.token:
            own_client.revoke(config.token, credentials.opened(row), access)
        return
    token, hint = connections.refresh_token(row), "refresh_token"
    if token is None:
        token, hint = connections.access_token(row), "access_token"
    if token:
        tell_provider(configs.oauth(connections.provider_of(row)), token, hint)


def _later(row: Connection, error: Exception) -> bool:
    tries = row.upstream_tries + 1
    tally.count("provider_errors", connections.provider_of(row).slug, "revoke")
    log.warning("provider %s was not told of a revocation (try %d): %s", row.provider, tries, error)
    delay = min(timedelta(seconds=2**tries), timedelta(hours=3))
    change = (
        {"upstream_next_at": clock.now() + delay}
        if tries < MAX_TRIES
        else {"upstream": Upstream.FAILED, "upstream_next_at": None, **_FORGOTTEN}
    )
    Connection.objects.filter(pk=row.pk, upstream_tries=tries).update(**change)
    return False
