"""H5: an operator could say that an identity provider is another, and where a secret that is kept goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.test import Client
from elicit_flows.errors import FlowError
from elicit_flows.values import Secret
from pytest_django import Settings

from elicit_flows import vault
from elicit_flows.models import Connection, IdentityProvider
from elicit_flows.models import Provider as ProviderRow
from tests.admin import conftest as admins
from tests.admin.rows import Rows
from tests.admin.test_secrets import MENUS
from tests.doubles.provider import Provider
from tests.oauth import conftest as providers
from tests.oauth.journey import told
from tests.support import rows
from tests.support.rows import Known
from tests.vault.refreshing import now

olga, admin, configured = admins.olga, admins.admin, admins.rows
double, drive_row, known = providers.double, providers.drive_row, providers.known
EVIL = "https://evil.example.com"
CLIENT_SECRET = "the-double's-client-secret"


@pytest.fixture
def without_second_factor(settings: Settings) -> None:
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def change(admin: Client, page: str, pk: int, **said: Any) -> None:
    """As far as the form lets an operator."""
    answer = admin.post(f"/admin/elicit_flows/{page}/{pk}/change/", said)
    assert answer.status_code in (200, 302)


def test_t132_an_identity_provider_keeps_its_issuer(
    without_second_factor: None, admin: Client, configured: Rows
) -> None:
    """Whoever changes it is any of its people: another site vouches for them in its place."""
    change(admin, "identityprovider", configured.openid.pk, issuer=EVIL, client_id="elicit", scopes="openid")
    assert IdentityProvider.objects.get().issuer == "https://idp.example.com"


@pytest.mark.parametrize("field", ["issuer", "token_url", "revocation_url", "userinfo_url", "device_authorization_url"])
def test_t131_an_address_at_another_host_needs_the_client_secret_again(
    without_second_factor: None, admin: Client, configured: Rows, field: str
) -> None:
    row = configured.provider
    kept = {"name": row.name, "issuer": row.issuer, "client_id": row.client_id, **MENUS}
    change(admin, "provider", row.pk, **kept | {field: f"{EVIL}/x"})
    assert getattr(ProviderRow.objects.get(), field) == getattr(row, field)


@pytest.fixture
def evil(double: Provider) -> Iterator[Provider]:
    """Knows our client, so that it takes whatever it is sent, and answers it."""
    with Provider(client_secret=CLIENT_SECRET) as running:
        yield running


@pytest.fixture
def held(known: Known, drive_row: ProviderRow, double: Provider) -> Connection:
    row = rows.connection(known, drive_row, rows.grant(double))
    rows.expire(row)
    return row


def move(row: ProviderRow, *, typed_again: bool, **to: str) -> None:
    ProviderRow.objects.filter(pk=row.pk).update(**to)
    row.refresh_from_db()
    if typed_again:
        vault.seal_client_secret(row, Secret(CLIENT_SECRET))
        row.save()


def was_sent(evil: Provider) -> list[str]:
    """The endpoints that were asked there."""
    return [name for name, _ in evil.requests]


@pytest.mark.parametrize("typed_again", [True, False])
def test_t131_no_refresh_token_goes_to_another_host_and_the_person_is_asked_again(
    known: Known, held: Connection, drive_row: ProviderRow, evil: Provider, typed_again: bool
) -> None:
    move(drive_row, typed_again=typed_again, token_url=f"{evil.url}/token")
    with suppress(FlowError):
        vault.token(known.row, held.pk)
    assert was_sent(evil) == []
    assert now(held).status == "reauthorization_required"
    assert told(known) == ["connection.reauthorization_required"]


def test_t131_nobody_is_told_of_a_revocation_at_another_host(
    held: Connection, drive_row: ProviderRow, evil: Provider
) -> None:
    """It has the refresh token in it."""
    move(drive_row, typed_again=True, revocation_url=f"{evil.url}/revoke")
    vault.revoke(held)
    while vault.tell_due_providers():
        pass
    assert was_sent(evil) == []
