"""Grants that wait for a person's yes: for another account than the one that was to be connected again (threat T29), or
for one that nobody can know was theirs (threat T120).
"""

from __future__ import annotations

import json
import logging
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction

from elicit_flows.errors import Unavailable
from elicit_flows.kinds.oauth import revoke as tell_provider
from elicit_flows.lib import clock
from elicit_flows.lib.oauth import OAuthError
from elicit_flows.models import Connection, Elicitation, HeldGrant, Provider
from elicit_flows.queue import bell
from elicit_flows.values import Grant, Secret
from elicit_flows.vault import configs
from elicit_flows.vault.seal import place, reveal, seal

log = logging.getLogger(__name__)

LIFE = timedelta(minutes=10)
RETRY = timedelta(minutes=1)
GIVE_UP = timedelta(days=1)  # a provider that never listens lets the tokens run out


def hold(elicitation: Elicitation, meant: Connection | None, grant: Grant) -> None:
    """In the caller's transaction. What was held for it before is given back."""
    now = clock.now()
    HeldGrant.objects.filter(elicitation=elicitation).update(expires_at=now, give_back_at=now)
    ends = min(now + LIFE, elicitation.expires_at)
    row = HeldGrant(elicitation=elicitation, connection=meant, created_at=now, expires_at=ends, give_back_at=ends)
    row.account_id, row.account_label = grant.account_id or "", grant.account_label or grant.account_id or ""
    row.grant = seal(Secret(_written(grant)), held_place(row))
    row.save(force_insert=True)


def held(elicitation: Elicitation) -> HeldGrant | None:
    """What the person is to be asked about, if anything."""
    rows = HeldGrant.objects.filter(elicitation=elicitation, expires_at__gt=clock.now())
    return rows.select_related("connection").first()


def take(elicitation: Elicitation, held_id: str) -> tuple[Grant, Connection | None] | None:
    """It is wanted: the grant of that id, and the connection that was meant, if any. In the caller's transaction."""
    rows = HeldGrant.objects.select_for_update(of=["self"]).select_related("connection")
    row = rows.filter(pk=held_id, elicitation=elicitation, expires_at__gt=clock.now()).first()
    if row is None:
        return None
    grant = _opened(row)
    row.delete()
    return grant, row.connection


def reject(elicitation: Elicitation) -> None:
    """It is not wanted: the worker tells the provider."""
    now = clock.now()
    with transaction.atomic():
        HeldGrant.objects.filter(elicitation=elicitation).update(expires_at=now, give_back_at=now)
        transaction.on_commit(partial(bell.ring_workers, bell.Work.SWEEP))


def give_back_due(limit: int = 20) -> int:
    """Tell the providers of grants that nobody wants; how many were told. Called by the worker."""
    rows = HeldGrant.objects.filter(give_back_at__lte=clock.now()).select_related("elicitation")
    return sum(_give_back(row) for row in rows.order_by("give_back_at")[:limit])


def _give_back(row: HeldGrant) -> bool:
    """Claim, act, record: told again where nobody wrote down that it was."""
    now, due = clock.now(), HeldGrant.objects.filter(pk=row.pk)
    if not due.filter(give_back_at=row.give_back_at).update(give_back_at=now + RETRY):
        return False
    try:
        provider = _provider(row)
        if provider and not _in_use(row, provider):
            _tell(row, provider)
    except (OAuthError, Unavailable) as error:
        log.warning("a grant that nobody wanted could not be given back to %s: %s", _slug(row), error)
        if now - row.created_at < GIVE_UP:
            return False
    due.delete()
    return True


def _slug(row: HeldGrant) -> str:
    return str(row.elicitation.params["provider"])


def _provider(row: HeldGrant) -> Provider | None:
    """None when the operator has deleted it: there is nobody to tell."""
    return Provider.objects.filter(slug=_slug(row), sort=Provider.Sort.OAUTH).first()


def _in_use(row: HeldGrant, provider: Provider) -> bool:
    """Many providers end all tokens of an account at once: those of a connection that lives are not to die."""
    same = Connection.objects.filter(provider=provider, account_id=row.account_id)
    return same.exclude(status=Connection.Status.REVOKED).exists()


def _tell(row: HeldGrant, provider: Provider) -> None:
    grant, config = _opened(row), configs.oauth(provider)
    if grant.refresh_token:
        tell_provider(config, grant.refresh_token, "refresh_token")
    else:
        tell_provider(config, grant.access_token, "access_token")


def held_place(row: HeldGrant) -> str:
    return place("heldgrant", row.id, row.elicitation_id, row.connection_id or "", "grant")


def _written(grant: Grant) -> str:
    return json.dumps(
        {
            "access_token": grant.access_token.reveal(),
            "refresh_token": grant.refresh_token.reveal() if grant.refresh_token else None,
            "token_type": grant.token_type,
            "expires_at": grant.expires_at.isoformat() if grant.expires_at else None,
            "scopes": grant.scopes,
            "account_id": grant.account_id,
            "account_label": grant.account_label,
            "dpop_key": grant.dpop_key.reveal() if grant.dpop_key else None,
        }
    )


def _opened(row: HeldGrant) -> Grant:
    sealed = reveal(row.grant, held_place(row))
    said = json.loads(sealed.reveal() if sealed else "{}")
    secrets = {name: Secret(said[name]) if said[name] else None for name in ("refresh_token", "dpop_key")}
    return Grant(
        access_token=Secret(said["access_token"]),
        token_type=said["token_type"],
        expires_at=datetime.fromisoformat(said["expires_at"]) if said["expires_at"] else None,
        scopes=tuple(said["scopes"]),
        account_id=said["account_id"],
        account_label=said["account_label"],
        **secrets,
    )
