"""A person's organisation decides, and its identity provider vouches for them: what is stored, when it is asked, and
for whom. The journeys are in tests/journey/test_managed.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from elicit_flows import elicitations, oauth, people, vault
from elicit_flows.domain.errors import ProviderUnavailable, ReauthorizationRequired
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.identity import Issued, SignedIn
from elicit_flows.jobs.purge import purge
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Elicitation, IdentityAssertion, IdentityProvider
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import managed
from elicit_flows.vault.seal import SealBroken
from tests.doubles import id_jag
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response
from tests.oauth.journey import BROWSER, ask
from tests.support import rows
from tests.support.moving import MovingClock
from tests.support.rows import Known

RESOURCE = "https://mcp.example.com/mcp"
ID_TOKEN, REFRESH_TOKEN = "the-id-token-of-alice", "the-refresh-token-of-alice"


@pytest.fixture
def idp(double: Provider) -> Iterator[Provider]:
    """The organisation's identity provider. ``double`` is the authorization server."""
    oauth.forget()
    managed.silent.forget()
    with Provider(client_secret=None) as running:
        id_jag.vouches(running)
        id_jag.takes_its_word(double)
        yield running


@pytest.fixture
def org(committed: None, idp: Provider) -> IdentityProvider:
    return IdentityProvider.objects.create(slug="org", issuer=idp.issuer, client_id="elicit", scopes=["openid"])


@pytest.fixture
def notes(double: Provider, org: IdentityProvider) -> ProviderRow:
    """A provider that the organisation decides about."""
    return rows.provider(double, "notes", issuer=double.issuer, resources=[RESOURCE], managed_by="org")


@pytest.fixture
def alice(idp: Provider, org: IdentityProvider, notes: ProviderRow) -> Claim:
    """She has signed in."""
    claim = Claim(idp.issuer, "alice")
    signed_in(org, claim)
    return claim


@pytest.fixture
def known(org: IdentityProvider) -> Known:
    return trusted(org)


def trusted(org: IdentityProvider) -> Known:
    known = rows.agent(managed_access=True)
    known.row.identity_providers.add(org)
    return known


def signed_in(org: IdentityProvider, claim: Claim, minutes: int = 60, refresh_token: str | None = None) -> None:
    until = clock.now() + timedelta(minutes=minutes)
    issued = Issued(Secret(ID_TOKEN), until, Secret(refresh_token) if refresh_token else None)
    vault.keep_assertion(org, SignedIn(claim, None, "Alice", issued=issued))


def asked(known: Known, claim: Claim, **more: Any) -> Elicitation:
    """As the API does it."""
    row = ask(known, claim=claim, **{"provider": "notes", **more})
    elicitations.connect_at_once(row)
    return row


def connected(known: Known, claim: Claim) -> Connection:
    """By one press of the button."""
    row = asked(known, claim)
    assert row.status == "pending"
    assert elicitations.begin(row.pk, claim, BROWSER, "a-press") is None
    row.refresh_from_db()
    assert row.status == "completed"
    return Connection.objects.get(pk=row.result["connection"])


def test_one_press_and_then_none(known: Known, alice: Claim, idp: Provider, double: Provider) -> None:
    row = connected(known, alice)
    assert (row.managed_by, row.scopes) == ("org", ["files.read"])
    (request,) = idp.seen("token")
    assert (request.form["subject_token"], request.form["audience"]) == (ID_TOKEN, double.issuer)
    (request,) = double.seen("token")
    assert request.form["resource"] == RESOURCE
    again = asked(known, alice, reuse="never")
    assert (again.status, again.reused, again.result["connection"]) == ("completed", False, row.pk)


def test_an_id_token_that_has_expired_is_not_shown_and_a_refresh_token_is(
    known: Known, alice: Claim, org: IdentityProvider, idp: Provider
) -> None:
    signed_in(org, alice, minutes=-1, refresh_token=REFRESH_TOKEN)
    connected(known, alice)
    (request,) = idp.seen("token")
    assert request.form["subject_token"] == REFRESH_TOKEN
    assert request.form["subject_token_type"] == "urn:ietf:params:oauth:token-type:refresh_token"


def test_without_anything_to_show_the_person_goes_the_usual_way(
    known: Known, alice: Claim, org: IdentityProvider, idp: Provider
) -> None:
    signed_in(org, alice, minutes=-1)
    row = asked(known, alice)
    url = elicitations.begin(row.pk, alice, BROWSER, "a-press")
    assert url
    assert "/authorize" in url
    assert not idp.seen("token")


def test_or_has_to_sign_in_again_where_there_is_no_other_way(known: Known, alice: Claim, org: IdentityProvider) -> None:
    IdentityProvider.objects.filter(pk=org.pk).update(managed_refusal="fail")
    signed_in(org, alice, minutes=-1)
    row = asked(known, alice)
    with pytest.raises(elicitations.SignInAgain):
        elicitations.begin(row.pk, alice, BROWSER, "a-press")


def test_t225_nothing_is_stored_unless_the_operator_turned_it_on(alice: Claim, org: IdentityProvider) -> None:
    assert IdentityAssertion.objects.count() == 1
    ProviderRow.objects.update(managed_by="")
    signed_in(org, alice)
    assert not IdentityAssertion.objects.exists()


def test_t225_what_is_stored_is_sealed_and_ends_with_the_sessions(alice: Claim, org: IdentityProvider) -> None:
    signed_in(org, alice, refresh_token=REFRESH_TOKEN)
    row = IdentityAssertion.objects.get()
    assert "alice" not in row.id_token + row.refresh_token
    assert row.id_token.startswith("v1.")
    assert row.refresh_token.startswith("v1.")
    people.end_sessions(alice)
    assert not IdentityAssertion.objects.exists()


def test_t225_what_was_issued_is_shown_to_the_identity_provider_alone(
    known: Known, alice: Claim, idp: Provider, double: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    idp.scripted["token"] = lambda request: json_response(
        {"error": "invalid_client", "error_description": ID_TOKEN}, 401
    )
    row = asked(known, alice)
    with pytest.raises(elicitations.NotShownYet):
        elicitations.begin(row.pk, alice, BROWSER, "a-press")
    id_jag.vouches(idp)
    elicitations.begin(row.pk, alice, BROWSER, "a-press")
    assert idp.seen("token")
    assert ID_TOKEN not in "".join(request.body.decode() for _, request in double.requests)
    assert ID_TOKEN not in caplog.text


def test_t227_a_token_is_renewed_by_asking_again_within_an_hour(
    known: Known, alice: Claim, idp: Provider, double: Provider
) -> None:
    id_jag.takes_its_word(double, expires_in=86400)
    row = connected(known, alice)
    assert row.expires_at
    assert row.expires_at <= clock.now() + timedelta(hours=1)
    assert not row.refresh_token
    rows.expire(row)
    before = len(idp.seen("token"))
    assert vault.token(known.row, row.pk)["access_token"].startswith("access_token-")
    assert len(idp.seen("token")) == before + 1
    assert double.seen("token")[-1].form["grant_type"].endswith(":jwt-bearer")


@pytest.mark.parametrize("by", ["organisation", "agent", "provider", "sign-in"])
def test_t227_what_the_organisation_or_the_operator_takes_back_ends(
    known: Known, alice: Claim, idp: Provider, by: str
) -> None:
    row = connected(known, alice)
    rows.expire(row)
    if by == "organisation":
        idp.scripted["token"] = json_response({"error": "access_denied"}, 400)
    elif by == "agent":
        Agent.objects.update(managed_access=False)
    elif by == "provider":
        ProviderRow.objects.update(managed_by="")
    else:
        people.end_sessions(alice)
    with pytest.raises(ReauthorizationRequired):
        vault.token(Agent.objects.get(pk=known.row.pk), row.pk)
    row.refresh_from_db()
    why = "sign_in_again" if by == "sign-in" else "organisation_refused"
    assert (row.status, row.last_refresh_error) == ("reauthorization_required", why)


def test_an_identity_provider_that_does_not_answer_ends_nothing(known: Known, alice: Claim, idp: Provider) -> None:
    row = connected(known, alice)
    idp.scripted["token"] = Response(503)
    rows.expire(row)
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, row.pk)
    row.refresh_from_db()
    assert row.status == "active"


def test_t228_an_agent_cannot_choose_a_person_who_has_not_let_it(
    known: Known, alice: Claim, org: IdentityProvider, idp: Provider
) -> None:
    connected(known, alice)
    before = len(idp.seen("token"))
    bob = Claim(idp.issuer, "bob")
    signed_in(org, bob)
    assert asked(known, bob).status == "pending"
    assert asked(trusted(org), alice).status == "pending"
    assert len(idp.seen("token")) == before


def test_t228_what_the_person_has_ended_is_asked_of_them(
    known: Known, alice: Claim, double: Provider, org: IdentityProvider
) -> None:
    first = connected(known, alice)
    rows.provider(double, "mail", issuer=double.issuer, resources=[RESOURCE], managed_by="org")
    assert asked(known, alice, provider="mail").status == "completed"
    vault.revoke(first, vault.ConnectionUse.Actor.PERSON)
    assert asked(known, alice).status == "pending"
    assert asked(known, alice, provider="mail", reuse="never").status == "completed"


def test_t228_an_assertion_moved_to_another_person_does_not_open(
    known: Known, alice: Claim, org: IdentityProvider, idp: Provider
) -> None:
    IdentityAssertion.objects.update(sub="bob")
    bob = Claim(idp.issuer, "bob")
    row = asked(known, bob)
    with pytest.raises((elicitations.NotShownYet, SealBroken)):
        elicitations.begin(row.pk, bob, BROWSER, "a-press")
    assert not idp.seen("token")


def test_an_account_that_the_person_connected_themselves_stays(
    known: Known, alice: Claim, notes: ProviderRow, idp: Provider
) -> None:
    with rows.transaction.atomic():
        own = vault.keep(known.row, alice, notes, rows.grant())
    row = asked(known, alice, reuse="never")
    assert row.status == "pending"
    url = elicitations.begin(row.pk, alice, BROWSER, "a-press")
    assert url
    assert not idp.seen("token")
    assert Connection.objects.get().pk == own.pk


def test_the_purge_deletes_what_has_expired(alice: Claim, moving_clock: MovingClock) -> None:
    purge()
    assert IdentityAssertion.objects.exists()
    moving_clock.forward(hours=2)
    purge()
    assert not IdentityAssertion.objects.exists()
