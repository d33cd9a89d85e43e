"""The account page: a person's connections, what was done with them, and how to end them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from elicit_flows import elicitations, vault
from elicit_flows.domain.values import Claim, Question
from elicit_flows.lib import clock
from elicit_flows.models import Connection, ConnectionUse, Event
from elicit_flows.models import Provider as ProviderRow
from tests.support import money, rows
from tests.support.rows import ALICE_CLAIM, ISSUER, Known
from tests.web.samples import Page

BOB = Claim(ISSUER, "bob")


@pytest.fixture
def drive(committed: None) -> ProviderRow:
    return rows.provider()


@pytest.fixture
def bot(drive: ProviderRow) -> Known:
    return rows.agent("drive-bot")


@pytest.fixture
def held(bot: Known, drive: ProviderRow) -> Connection:
    return rows.connection(bot, drive)


def browser(sub: str = "alice", age: int = 0) -> Client:
    """One in which that person signed in ``age`` seconds ago."""
    client = Client()
    session = client.session
    session["person"] = {"iss": ISSUER, "sub": sub, "label": sub.title(), "auth_time": 0, "browser": "b"}
    session["person"]["at"] = int(clock.now().timestamp()) - age
    session.save()
    return client


def page(client: Client, path: str = "/account", status: int = 200) -> Page:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    return Page(answer.text)


def test_a_person_reads_what_an_agent_did_and_when(bot: Known, held: Connection) -> None:
    vault.token(bot.row, held.pk)
    alice = browser()
    [link] = [one["href"] for one in page(alice).all("a") if "connections" in str(one["href"])]
    text = page(alice, str(link)).text()
    assert "Drive Bot fetched an access token" in text.replace(bot.row.name, "Drive Bot")
    assert "You connected it" in text


def test_what_a_connection_may_do_stands_there_in_words(bot: Known) -> None:
    google = rows.provider(slug="google", preset="google")
    readonly = "https://www.googleapis.com/auth/drive.readonly"
    row = rows.connection(bot, google, replace(rows.grant(), scopes=("email", readonly, "something.new")))
    text = page(browser(), f"/account/connections/{row.pk}").text()
    assert "Read See your e-mail address" in text
    assert "See and download all of your Google Drive files" in text
    assert "Other something.new" in text
    assert f"Technical names email {readonly} something.new" in text


def test_the_limits_to_lower_are_written_as_the_reader_writes_them_and_read_back(bot: Known) -> None:
    mandate = money.mandate(bot, money.account(), total=123456)
    alice = browser()
    at = f"/account/payments/mandates/{mandate.pk}"
    for language, written in (("en", "1234.56"), ("de", "1234,56")):
        shown = Page(alice.get(at, headers={"accept-language": language}).text)
        [field] = [one for one in shown.all("input") if one.get("name") == "total"]
        assert field["value"] == written
    form = {"per_charge": "10,50", "per_day": "", "per_month": "", "total": "1000,00"}
    assert alice.post(f"{at}/lower", form, headers={"accept-language": "de"}).status_code == 303
    mandate.refresh_from_db()
    assert (mandate.per_charge, mandate.total) == (1050, 100000)
    assert alice.post(f"{at}/lower", {"total": "٩٩٩٫٥"}, headers={"accept-language": "ar"}).status_code == 303
    mandate.refresh_from_db()
    assert mandate.total == 99950


@pytest.mark.parametrize("typed", ["2000,00", "much"])
def test_a_limit_that_is_refused_has_the_focus_the_reason_beside_it_and_what_was_typed(bot: Known, typed: str) -> None:
    mandate = money.mandate(bot, money.account(), total=123456)
    form = {"per_charge": "10,50", "total": typed}
    at = f"/account/payments/mandates/{mandate.pk}/lower"
    answer = browser().post(at, form, headers={"accept-language": "de"})
    assert answer.status_code == 422
    shown = Page(answer.text)
    fields = {str(one["name"]): one for one in shown.all("input") if str(one.get("id")).startswith("limit-")}
    assert [name for name, one in fields.items() if "autofocus" in one and one.get("aria-invalid")] == ["total"]
    assert fields["total"]["aria-describedby"] in [one.get("id") for one in shown.all("span")]
    assert {name: fields[name]["value"] for name in form} == form
    assert "Geben Sie " in shown.text()


def test_t64_what_another_person_connected_is_not_there(held: Connection) -> None:
    bob = browser("bob")
    assert page(bob, f"/account/connections/{held.pk}", 404).text().count(held.pk) == 0
    assert bob.post(f"/account/connections/{held.pk}/revoke").status_code == 404
    assert bob.post(f"/account/agents/{held.agent.slug}/revoke").status_code == 404
    held.refresh_from_db()
    assert held.status == "active"


def test_who_is_not_signed_in_is_asked_to_and_told_nothing(held: Connection) -> None:
    anybody = Client()
    asked = page(anybody, f"/account/connections/{held.pk}")
    assert asked.all("body")[0]["data-page"] == "signin"
    assert "Drive" not in asked.text()
    assert {"type": "hidden", "name": "next", "value": f"/account/connections/{held.pk}"} in asked.all("input")
    assert anybody.post(f"/account/agents/{held.agent.slug}/revoke").status_code == 403


def test_all_that_an_agent_has_ends_at_once_and_what_others_have_stays(
    bot: Known, held: Connection, drive: ProviderRow
) -> None:
    mail = rows.provider(slug="mail")
    rows.connection(bot, mail)
    kept = [rows.connection(rows.agent("other-bot"), drive), rows.connection(bot, drive, claim=BOB)]
    alice = browser()
    answer = alice.post(f"/account/agents/{bot.row.slug}/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/account?ended_of={bot.row.slug}")
    shown = page(alice, answer.headers["location"])
    assert "is disconnected." in shown.text()
    assert [one["tabindex"] for one in shown.all("div") if one.get("role") == "status"] == ["-1"]
    assert set(vault.held_by(ALICE_CLAIM)) | set(vault.held_by(BOB)) == set(kept)
    assert Event.objects.filter(type="connection.revoked").count() == 2
    assert ConnectionUse.objects.filter(action="revoked", actor="person").count() == 2
    assert "Drive for" in " ".join(page(alice, "/account/ended").text().split())
    assert alice.post(f"/account/agents/{bot.row.slug}/revoke").status_code == 404


def test_t61_signing_out_everywhere_ends_every_session_of_that_person_and_no_other(held: Connection) -> None:
    here, there, bob = browser(), browser(), browser("bob")
    assert here.post("/logout/everywhere").status_code == 303
    for client in (here, there):
        assert page(client).all("body")[0]["data-page"] == "signin"
        assert client.post(f"/account/connections/{held.pk}/revoke").status_code == 403
        assert client.session.is_empty()
    assert page(bob).all("body")[0]["data-page"] == "account"
    held.refresh_from_db()
    assert held.status == "active", "the connections stay"


def test_t61_a_pending_button_does_nothing_after_signing_out_everywhere(bot: Known, drive: ProviderRow) -> None:
    asked = elicitations.create(bot.row, Question("confirm", ALICE_CLAIM, "May I?", {}))[0]
    here, there = browser(), browser()
    here.post("/logout/everywhere")
    assert there.post(f"/c/{asked.pk}/decline").status_code == 403
    asked.refresh_from_db()
    assert asked.status == "pending"


@pytest.mark.parametrize(
    ("preset", "where"),
    [("typeform", ""), ("wrike", ""), ("workday", ""), ("clickup", "https://app.clickup.com/settings/apps")],
)
def test_who_disconnects_what_the_provider_cannot_be_told_of_reads_to_end_it_there(
    bot: Known, preset: str, where: str
) -> None:
    """Three of the most used providers document no revocation, and one only where people end it themselves."""
    there = rows.provider(slug=preset, preset=preset)
    there.revocation_url = ""
    there.save()
    held = rows.connection(bot, there)
    alice = browser()
    answer = alice.post(f"/account/connections/{held.pk}/revoke")
    for at in (answer.headers["location"], f"/account/connections/{held.pk}"):
        shown = page(alice, at)
        said = f"This service cannot tell {there.name} : end the access in your account there, too."
        assert said in shown.text()
        assert ("Where to end it" in shown.text()) == bool(where)
        assert {where} <= {link["href"] for link in shown.all("a")} | {""}
