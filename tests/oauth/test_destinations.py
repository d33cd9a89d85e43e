"""T131: whoever changes where a provider is gets no secret of it, nor of anybody who connected it before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from elicit_flows import elicitations, oauth, vault
from elicit_flows.domain.errors import ReauthorizationRequired, StartAgain, Unavailable
from elicit_flows.domain.values import Answer, Secret
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.models import Connection, IdentityProvider, Registration
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import pending_grants, provider_settings
from tests.doubles.provider import Provider
from tests.oauth.journey import BROWSER, ask, come_back, connect, press, told
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.vault.refreshing import now

CLIENT_SECRET = "the-double's-client-secret"


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


def change(row: ProviderRow, **to: Any) -> ProviderRow:
    """In the database, past every form and file."""
    ProviderRow.objects.filter(pk=row.pk).update(**to)
    return ProviderRow.objects.get(pk=row.pk)


def give_secret_again(row: ProviderRow) -> None:
    vault.seal_client_secret(row, Secret(CLIENT_SECRET))
    row.save()


def tell_all() -> None:
    while jobs.tell_due_providers():
        pass


@pytest.mark.parametrize("typed_again", [True, False])
def test_t131_no_refresh_token_goes_to_another_host_and_the_person_is_asked_again(
    known: Known, held: Connection, drive_row: ProviderRow, double: Provider, evil: Provider, typed_again: bool
) -> None:
    row = change(drive_row, token_url=f"{evil.url}/token")
    if typed_again:
        give_secret_again(row)
    for _ in range(2):
        with pytest.raises(ReauthorizationRequired):
            vault.token(known.row, held.pk)
    assert (evil.requests, double.calls["token"]) == ([], 0)
    assert (now(held).status, now(held).last_refresh_error) == ("reauthorization_required", "provider_moved")
    assert told(known) == ["connection.reauthorization_required"]


def test_t131_the_worker_sends_no_refresh_token_to_another_host(
    held: Connection, drive_row: ProviderRow, evil: Provider
) -> None:
    give_secret_again(change(drive_row, token_url=f"{evil.url}/token"))
    Connection.objects.update(refresh_due_at=held.issued_at, last_used_at=held.created_at)
    jobs.refresh_due()
    assert evil.requests == []
    assert now(held).status == "reauthorization_required"


def test_t131_no_refresh_token_goes_to_another_issuer(known: Known, double: Provider, evil: Provider) -> None:
    row = ProviderRow(slug="found", name="Found", client_id="elicit", issuer=double.issuer)
    give_secret_again(row)
    held = rows.connection(known, row, rows.grant(double))
    rows.expire(held)
    give_secret_again(change(row, issuer=evil.issuer))
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)
    assert evil.calls["token"] == 0


def test_t131_no_refresh_token_goes_where_the_variables_of_a_preset_lead(known: Known, evil: Provider) -> None:
    """The preset has a variable in its addresses. Its file is changed to send the secret elsewhere."""
    row = ProviderRow(slug="shop", name="Shop", preset="shopify", client_id="x", given=[], variables={"shop": "ours"})
    give_secret_again(row)
    held = rows.connection(known, row, rows.grant())
    rows.expire(held)
    give_secret_again(change(row, variables={"shop": "theirs"}))
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)


def test_t131_nobody_is_told_of_a_revocation_at_another_host(
    held: Connection, drive_row: ProviderRow, double: Provider, evil: Provider, moving_clock: MovingClock
) -> None:
    give_secret_again(change(drive_row, revocation_url=f"{evil.url}/revoke"))
    vault.revoke(held)
    tell_all()
    assert (evil.requests, now(held).upstream) == ([], "pending")
    give_secret_again(change(drive_row, revocation_url=f"{double.url}/revoke"))
    moving_clock.forward(minutes=5)
    tell_all()
    assert (double.calls["revoke"], now(held).upstream) == (1, "done")


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("token_url", "/token"), ("revocation_url", "/revoke"), ("userinfo_url", "/userinfo"), ("issuer", ""),
        ("device_authorization_url", "/device"),
    ],
)  # fmt: skip
def test_t131_a_client_secret_waits_until_it_is_given_for_the_new_host(
    known: Known, drive_row: ProviderRow, double: Provider, evil: Provider, field: str, path: str
) -> None:
    row = ask(known)
    url = press(row)
    given = change(drive_row, **{field: evil.url + path})
    assert field.removesuffix("_url").removesuffix("_authorization") in provider_settings.moved_hosts(given)
    for act in (lambda: vault.oauth(given), lambda: come_back(double, row, url), lambda: press(ask(known), "another")):
        with pytest.raises(Unavailable, match="has to give the secret again"):
            act()
    assert evil.requests == []
    give_secret_again(given)
    assert vault.oauth(given).client_secret == Secret(CLIENT_SECRET)


@pytest.mark.parametrize("field", ["token_url", "userinfo_url"])
def test_t131_a_code_on_its_way_goes_to_no_other_host(
    known: Known, drive_row: ProviderRow, double: Provider, evil: Provider, field: str
) -> None:
    """Also where there is no client secret."""
    row = change(drive_row, client_secret="", token_auth="none")
    double.client_secret = None
    asked = ask(known)
    url = press(asked)
    change(row, **{field: f"{evil.url}/{field.removesuffix('_url')}"})
    with pytest.raises(StartAgain, match="settings have changed"):
        elicitations.resume("drive", Answer(double.visit(url)), asked.claim, BROWSER)
    assert evil.requests == []


def test_another_path_at_the_same_host_needs_nothing_typed_again(
    known: Known, held: Connection, drive_row: ProviderRow, double: Provider
) -> None:
    change(drive_row, token_url=f"{double.url}/token?v=2", userinfo_url="")
    assert double.live(vault.token(known.row, held.pk)["access_token"])


def test_t131_a_host_that_saw_access_tokens_alone_gets_no_refresh_token(drive_row: ProviderRow) -> None:
    row = change(drive_row, userinfo_url="https://api.test/me")
    give_secret_again(row)
    moved = change(row, token_url="https://api.test/token")
    assert provider_settings.moved_hosts(moved) == {"token": "https://api.test"}
    assert provider_settings.moved_hosts(change(moved, token_url=row.revocation_url)) == {}


def test_t131_a_connection_made_anew_belongs_to_the_new_host(
    known: Known, held: Connection, drive_row: ProviderRow, evil: Provider
) -> None:
    at = {name: f"{evil.url}/{name.removesuffix('_url')}" for name in ("authorize_url", "token_url", "userinfo_url")}
    give_secret_again(change(drive_row, **at, revocation_url=f"{evil.url}/revoke", issuer=evil.issuer))
    oauth.forget()
    assert connect(evil, known, reuse="never").status == "completed"
    rows.expire(now(held))
    assert evil.live(vault.token(known.row, held.pk)["access_token"])


def test_t131_a_persons_own_client_is_not_sent_to_another_host(known: Known, double: Provider, evil: Provider) -> None:
    house = ProviderRow.objects.create(
        slug="house",
        name="House",
        sort="credentials",
        fields=client_credentials.FIELDS,
        token_url=f"{double.url}/token",
        revocation_url=f"{double.url}/revoke",
    )  # fmt: skip
    named = {"client_id": Secret("elicit"), "client_secret": Secret(CLIENT_SECRET)}
    config = vault.credentials_provider(house).token
    assert config
    with transaction.atomic():
        held = vault.keep_credentials(
            known.row, rows.ALICE_CLAIM, house, "", named, client_credentials.ask(config, named)
        )
    rows.expire(held)
    change(house, token_url=f"{evil.url}/token", revocation_url=f"{evil.url}/revoke")
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)
    vault.revoke(now(held))
    tell_all()
    assert evil.requests == []


def test_t131_a_grant_that_is_held_back_belongs_to_the_host_that_gave_it(
    known: Known, drive_row: ProviderRow, double: Provider, evil: Provider
) -> None:
    connect(double, known)
    again = ask(known, reuse="never", connection=Connection.objects.get().pk)
    double.user = {"sub": "bob", "name": "Bob"}
    elicitations.resume("drive", Answer(double.visit(press(again))), again.claim, BROWSER)
    waiting = vault.pending_grant(again)
    assert waiting
    give_secret_again(change(drive_row, token_url=f"{evil.url}/token", revocation_url=f"{evil.url}/revoke"))
    with transaction.atomic():
        taken = vault.take_pending_grant(again, waiting.pk)
        assert taken
        assert taken[0].bound_to == dict.fromkeys(("issuer", "token", "revocation", "device", "userinfo"), double.url)
        kept = vault.keep(known.row, rows.ALICE_CLAIM, ProviderRow.objects.get(pk=drive_row.pk), taken[0])
    rows.expire(kept)
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, kept.pk)
    vault.revoke_unkept_grant(ProviderRow.objects.get(pk=drive_row.pk), taken[0])
    with transaction.atomic():
        pending_grants.store_pending_grant(again, None, taken[0])
    vault.reject_pending_grant(again)
    jobs.revoke_rejected_grants()
    assert evil.requests == []


def test_t131_a_secret_that_was_registered_at_one_issuer_is_not_shown_to_another(
    known: Known, drive_row: ProviderRow, double: Provider, evil: Provider
) -> None:
    for one in (double, evil):
        one.metadata = {"registration_endpoint": f"{one.url}/register"}
    row = change(
        drive_row, registration="dynamic", client_id="", client_secret="", authorize_url="", token_url="",
        revocation_url="", userinfo_url="",
    )  # fmt: skip
    connect(double, known)
    assert vault.oauth(row).client_secret
    moved = change(row, issuer=evil.issuer)
    assert (vault.registration_of(moved), vault.oauth(moved).client_secret) == (None, None)
    evil.client_secret = "of-another-registration"
    connect(evil, known, reuse="never")
    assert Registration.objects.get().bound_to["issuer"] == evil.url
    assert CLIENT_SECRET not in str([(one.body, one.headers) for _, one in evil.requests])


def test_t131_an_identity_provider_that_was_moved_in_the_database_gets_no_secret(committed: None) -> None:
    row = IdentityProvider(slug="corp", issuer="https://idp.test", client_id="elicit")
    vault.seal_client_secret(row, Secret("of corp"))
    row.save()
    assert vault.openid(row).client_secret == Secret("of corp")
    IdentityProvider.objects.update(issuer="https://evil.test")
    with pytest.raises(Unavailable):
        vault.openid(IdentityProvider.objects.get())
