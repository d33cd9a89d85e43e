"""Registers this service at a provider (RFC 7591): once, and again when the provider has forgotten the registration.

If many callers need the registration at once, one of them takes a lease and asks the provider, with no transaction
open. The client secret that it gets is sealed.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q

from elicit_flows.domain.errors import ProviderUnavailable
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.oauth.client_metadata import is_forgotten, register
from elicit_flows.lib import clock
from elicit_flows.models import Connection, Provider, Registration
from elicit_flows.oauth import CLIENT_LOST
from elicit_flows.vault import provider_settings
from elicit_flows.vault.seal import seal

log = logging.getLogger(__name__)
LEASE = timedelta(seconds=30)  # longer than the request to the provider may take


def register_client(row: Provider, redirect_uri: str) -> None:
    """Register this service if the provider requires it and it has not been done, or if the provider has forgotten it.
    Takes at most 30 seconds.

    Raises ProviderUnavailable, also while another process is registering it.
    """
    if row.registration != "dynamic":
        return
    if known := provider_settings.registration_of(row):
        if not (_is_doubted(row, known) and is_forgotten(provider_settings.oauth(row))):
            return
        forget_registration(row, known.client_id)
    ours = Registration.objects.filter(**provider_settings.registered_for(row))
    for stale in ours.exclude(registered_at=None).select_related("provider"):
        if provider_settings.registered_elsewhere(stale):
            Registration.objects.filter(pk=stale.pk).delete()
    if not _claim(row):
        raise ProviderUnavailable(
            "This service is being registered at the provider. Try again in a moment.", retry_after=2
        )
    mine = ours.filter(registered_at=None)
    try:
        told = register(provider_settings.oauth(row), redirect_uri)
    except ProviderUnavailable:
        mine.update(lease_until=clock.now())
        raise
    secret = Secret(told.secret) if told.secret else None
    sealed_for = Registration(client_id=told.client_id, **provider_settings.registered_for(row))
    mine.update(
        client_id=told.client_id,
        client_secret=seal(secret, provider_settings.registration_place(sealed_for)),
        token_auth=told.auth,
        registered_at=clock.now(),
        bound_to=provider_settings.hosts_of(row),
    )
    log.info("registered at provider %s as %s", row.slug, told.client_id)


def forget_registration(row: Provider, client_id: str) -> None:
    """The provider no longer knows ``client_id``: register again when the next person goes there."""
    ours = Registration.objects.filter(**provider_settings.registered_for(row), client_id=client_id)
    if ours.exclude(registered_at=None).delete()[0]:
        log.warning("provider %s does not know the client that it registered, %s, any more", row.slug, client_id)


def _is_doubted(row: Provider, known: Registration) -> bool:
    """Whether a refresh was answered as if the provider did not know this registration. Nobody who goes there could
    tell us: a provider does not send a person back from a client that it does not know (RFC 6749, section 4.1.2.1).
    """
    there = Connection.objects.filter(provider__issuer=row.issuer).exclude(provider__mcp="")
    there = there if row.mcp else Connection.objects.filter(provider=row)
    failing = there.filter(refresh_failures__gt=0, last_refresh_error__in=CLIENT_LOST)
    since = Q(refused_since__gt=known.registered_at) | Q(refresh_started_at__gt=known.registered_at)
    return failing.filter(since).exclude(status=Connection.Status.REVOKED).exists()


def _claim(row: Provider) -> bool:
    now = clock.now()
    owner = provider_settings.registered_for(row)
    if Registration.objects.filter(**owner, registered_at=None, lease_until__lte=now).update(lease_until=now + LEASE):
        return True
    try:
        with transaction.atomic():
            Registration.objects.create(**owner, lease_until=now + LEASE)
    except IntegrityError:
        return False
    return True
