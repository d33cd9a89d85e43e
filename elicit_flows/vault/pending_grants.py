"""Grants that wait for a person's confirmation: a grant of another account than the one to be connected again (threat
T29), or one that may be of either account (threat T120).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Grant, Secret
from elicit_flows.events import wakeups
from elicit_flows.job_table import REVOCATIONS
from elicit_flows.kinds.oauth import revoke_grant as tell_provider
from elicit_flows.lib import clock
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import Connection, Elicitation, PendingGrant, Provider, leases
from elicit_flows.oauth import OAuthError
from elicit_flows.vault import grant_json, provider_settings, revocation
from elicit_flows.vault.seal import place, reveal, seal

log = logging.getLogger(__name__)

LIFE = timedelta(minutes=10)
GIVE_UP = timedelta(days=1)  # then the tokens expire by themselves


def store_pending_grant(elicitation: Elicitation, meant: Connection | None, grant: Grant) -> None:
    """Store the grant, in the caller's transaction. An earlier one of the same elicitation is rejected."""
    now = clock.now()
    PendingGrant.objects.filter(elicitation=elicitation).update(expires_at=now, give_back_at=now)
    ends = min(now + LIFE, elicitation.expires_at)
    row = PendingGrant(elicitation=elicitation, connection=meant, created_at=now, expires_at=ends, give_back_at=ends)
    row.account_id, row.account_label = grant.account_id or "", grant.account_label or grant.account_id or ""
    row.grant = _sealed(row, grant)
    row.save(force_insert=True)


def pending_grant(elicitation: Elicitation) -> PendingGrant | None:
    """The grant that the person has to be asked about, if any."""
    rows = PendingGrant.objects.filter(elicitation=elicitation, expires_at__gt=clock.now())
    return rows.select_related("connection").first()


def take_pending_grant(elicitation: Elicitation, held_id: str) -> tuple[Grant, Connection | None] | None:
    """Take the confirmed grant, with the connection it is meant for, if any. Runs in the caller's transaction."""
    rows = PendingGrant.objects.select_for_update(of=["self"]).select_related("connection")
    row = rows.filter(pk=held_id, elicitation=elicitation, expires_at__gt=clock.now()).first()
    if row is None:
        return None
    grant = _opened(row)
    row.delete()
    return grant, row.connection


def reject_pending_grant(elicitation: Elicitation) -> None:
    """Reject the grant: the worker revokes it at the provider."""
    now = clock.now()
    with transaction.atomic():
        PendingGrant.objects.filter(elicitation=elicitation).update(expires_at=now, give_back_at=now)
        transaction.on_commit(partial(wakeups.wake_workers, REVOCATIONS))


def providers_of_rejected_grants(without: Collection[str]) -> list[str]:
    """The slugs of the providers at which rejected grants are due to be revoked, except those in ``without``."""
    now = clock.now()
    if not _ONE_DUE.all(now):  # as usual
        return []
    slugs = _due(now).values_list("elicitation__params__provider", flat=True).distinct()
    return [str(slug) for slug in slugs if slug not in without]


def rejected_grants_due(slug: str, limit: int) -> list[PendingGrant]:
    """Those that this provider is to be told of now, oldest first."""
    due = _due(clock.now()).filter(elicitation__params__provider=slug).select_related("elicitation")
    return list(due.order_by("give_back_at")[:limit])


def _due(now: datetime) -> QuerySet[PendingGrant]:
    return PendingGrant.objects.filter(give_back_at__lte=now)


_ONE_DUE = CompiledQuery(lambda now: _due(now).only("pk")[:1], clock.now(), prepare=False)


def revoke_rejected_grant(row: PendingGrant) -> bool:
    """Tell the provider, again where nobody wrote down that it was. Called by the worker. False: it did not listen, or
    another worker tells it.
    """
    now, slug = clock.now(), str(row.elicitation.params["provider"])
    if not leases.claim(row, "give_back_at", give_back_at=now + REVOCATIONS.lease):
        return False
    try:
        # None when the operator has deleted it: there is nobody to tell.
        provider = Provider.objects.filter(slug=slug, sort=Provider.Sort.OAUTH).first()
        grant = _opened(row)
        if provider and not revocation.is_connected(provider, row.account_id, grant.variables):
            provider = provider_settings.for_person(provider, grant.variables)
            config = provider_settings.oauth(provider)
            if grant.bound_to is not None:
                provider_settings.check(provider, grant.bound_to, provider_settings.REVOCATION)

            def keep(fresh: Grant) -> None:
                """Keep the tokens of a refresh that the revocation needed, for its next try."""
                renewed = fresh.refresh_token or grant.refresh_token
                kept = replace(
                    grant, access_token=fresh.access_token, refresh_token=renewed, expires_at=fresh.expires_at
                )
                leases.held(row, "give_back_at").update(grant=_sealed(row, kept))

            access = revocation.unexpired(config, grant.access_token, grant.refresh_token, grant.expires_at)
            tell_provider(config, access, grant.refresh_token, grant.token_secret, grant.sets, keep)
    except (OAuthError, Unavailable) as error:
        log.warning("a rejected grant could not be revoked at %s: %s", slug, error)
        if now - row.created_at < GIVE_UP:
            return False
    PendingGrant.objects.filter(pk=row.pk).delete()
    return True


def held_place(row: PendingGrant) -> str:
    return place("pendinggrant", row.id, row.elicitation_id, row.connection_id or "", "grant")


def _sealed(row: PendingGrant, grant: Grant) -> str:
    return seal(Secret(json.dumps(grant_json.dump(grant))), held_place(row))


def _opened(row: PendingGrant) -> Grant:
    sealed = reveal(row.grant, held_place(row))
    return grant_json.load(json.loads(sealed.reveal() if sealed else "{}"))
