"""Registering this service at a provider, once, and anew when the provider has forgotten it (RFC 7591).

Claim, act, record: of many who come at once one registers, with no transaction open; what it was told is sealed.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import IntegrityError, transaction

from elicit_flows.errors import ProviderUnavailable
from elicit_flows.kinds.oauth.registering import register
from elicit_flows.lib import clock
from elicit_flows.models import Provider, Registration
from elicit_flows.values import Secret
from elicit_flows.vault import configs
from elicit_flows.vault.seal import seal

log = logging.getLogger(__name__)
LEASE = timedelta(seconds=30)  # longer than the provider's deadline


def make_known(row: Provider, redirect_uri: str) -> None:
    """Harmless when it is done already, or not to be done. Raises ProviderUnavailable."""
    if row.registration != "dynamic" or configs.registration_of(row):
        return
    if not _claim(row):
        raise ProviderUnavailable("This service is just being registered at the provider.", retry_after=2)
    mine = Registration.objects.filter(provider=row, registered_at=None)
    try:
        told = register(configs.oauth(row), redirect_uri)
    except ProviderUnavailable:
        mine.update(lease_until=clock.now())
        raise
    secret = Secret(told.secret) if told.secret else None
    mine.update(
        client_id=told.client_id,
        client_secret=seal(secret, configs.registration_place(row.pk, told.client_id)),
        token_auth=told.auth,
        registered_at=clock.now(),
    )
    log.info("registered at provider %s as %s", row.slug, told.client_id)


def forget_registration(row: Provider, client_id: str) -> None:
    """The provider does not know this client any more: the next person to leave has us registered anew."""
    if Registration.objects.filter(provider=row, client_id=client_id).exclude(registered_at=None).delete()[0]:
        log.warning("provider %s does not know the client that it registered, %s, any more", row.slug, client_id)


def _claim(row: Provider) -> bool:
    now = clock.now()
    if Registration.objects.filter(provider=row, registered_at=None, lease_until__lte=now).update(
        lease_until=now + LEASE
    ):
        return True
    try:
        with transaction.atomic():
            Registration.objects.create(provider=row, lease_until=now + LEASE)
    except IntegrityError:
        return False
    return True
