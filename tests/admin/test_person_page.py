"""The page of one person, which no address names."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from elicit_flows import people
from elicit_flows.admin import audit_log, persons
from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Elicitation, Erasure, Mandate, Member, Payment, Provider, SignOut
from elicit_flows.web.session_store import SessionStore, stored_key
from tests.admin.rows import ALICE, CANARIES, ISSUER, Rows, agent, elicitation, payment
from tests.admin.test_grants import enter
from tests.support.moving import MovingClock


def address(rows: Rows) -> str:
    return f"/admin/person/{rows.elicitation.pk}/"


def connected(rows: Rows, number: int, **more: object) -> Connection:
    return Connection.objects.create(
        agent=rows.agent, provider=rows.provider, iss=ISSUER, sub="alice", account_id=f"a{number}",
        account_label=f"account-{number}", **more,
    )  # fmt: skip


def test_who_they_are_and_everything_of_theirs_is_on_one_page(admin: Client, rows: Rows) -> None:
    connected(rows, 1, status="revoked", revoked_at=clock.now())
    Connection.objects.filter(pk=rows.connection.pk).update(refresh_failures=2)
    other = elicitation(rows.agent, "bob")
    shown = admin.get(address(rows)).text
    for words in (
        ISSUER, "corp", "1 connection in use", "alice@drive", "The last refresh failed", "account-1", "€12.50",
        rows.elicitation.pk, "2 requests waiting", "1 payment",
    ):  # fmt: skip
        assert words in shown, words
    assert other.pk not in shown
    assert not [one for one in CANARIES if one in shown]


def test_the_sessions_are_listed_without_what_opens_them(admin: Client, rows: Rows) -> None:
    assert "They are signed in nowhere." in admin.get(address(rows)).text
    browser = SessionStore()
    browser.create()
    people.note_session(ALICE, stored_key(browser.session_key), "Firefox", "Linux")
    shown = admin.get(address(rows)).text
    assert "Firefox on Linux" in shown
    assert str(browser.session_key) not in shown
    assert stored_key(browser.session_key) not in shown


def test_they_are_found_by_sub_by_issuer_and_by_the_name_of_an_account(admin: Client, rows: Rows) -> None:
    for wanted in ("alice", f"{ISSUER} alice", "alice@drive", " alice "):
        found = admin.post("/admin/search/", {"q": wanted})
        assert found["Location"].startswith("/admin/person/"), wanted
        assert "alice" not in found["Location"]
        assert "alice@drive" in admin.get(found["Location"]).text
    for wanted in ("Alice", "alic", "https://idp.example.com/ alice", "%"):
        assert "Nothing found" in admin.post("/admin/search/", {"q": wanted}).text, wanted


def test_a_sub_with_spaces_is_found_too(admin: Client, rows: Rows) -> None:
    row = elicitation(rows.agent, "CN=Alice Smith, O=Example")
    for wanted in (row.sub, f"{ISSUER} {row.sub}"):
        found = admin.post("/admin/search/", {"q": wanted})
        assert found.headers.get("Location") == f"/admin/person/{row.pk}/", wanted


def test_people_with_the_same_sub_are_told_apart(admin: Client, rows: Rows) -> None:
    other = elicitation(rows.agent)
    Elicitation.objects.filter(pk=other.pk).update(iss="https://other.example.com")
    shown = admin.post("/admin/search/", {"q": "alice"}).text
    assert ISSUER in shown
    assert f'/admin/person/{other.pk}/"' in shown


def test_somebody_with_an_account_of_this_service_and_nothing_else_is_found(
    admin: Client, db: None, settings: Settings
) -> None:
    ines = Member.objects.create(name="Ines")
    found = admin.post("/admin/search/", {"q": ines.sub})
    assert found["Location"] == f"/admin/person/member-{ines.pk}/"
    shown = admin.get(found["Location"]).text
    assert "Ines" in shown
    assert "No agent can use an account of theirs." in shown
    for wrong in ("member-", "member-x", f"member-{ines.pk}0", "el_nothing", "re_1", "x"):
        assert admin.get(f"/admin/person/{wrong}/").status_code == 404, wrong


def test_t119_the_log_forgets_the_names_of_an_erased_account_and_not_what_was_done(
    admin: Client, settings: Settings, moving_clock: MovingClock
) -> None:
    for name, path in (('Ines "I\\" Sol', "add/"), ("Mia Sol", "{}/change/"), ("", "{}/switch/")):
        address = path.format(Member.objects.values_list("pk", flat=True).first())
        form = {"name": name, "enabled": "on", "to": "off"}
        assert admin.post(f"/admin/elicit_flows/member/{address}", form).status_code == 302
    other = Member.objects.create(name="Ben Sol")
    audit_log.record(User.objects.get(), 'Changed Name from "Ann Sol" to "Ben Sol".', other)
    gone = Member.objects.get(name="Mia Sol")
    people.request_erasure(Claim(settings.ELICIT_PUBLIC_URL, gone.sub))
    moving_clock.forward(minutes=61)
    assert people.sweep_erasures() == 1
    entries = LogEntry.objects.filter(object_id=gone.pk).order_by("pk").values_list("object_repr", "change_message")
    name = Erasure.objects.get().pk
    assert list(entries) == [
        (name, 'Added. Name "".'),
        (name, 'Changed Name from "" to "".'),
        (name, "Switched off."),
    ]
    assert "Ann Sol" in LogEntry.objects.get(object_id=other.pk).change_message


def test_t113_one_connection_those_at_a_provider_or_all_are_ended_and_each_is_noted(
    admin: Client, olga: User, rows: Rows
) -> None:
    other = Provider.objects.create(slug="other", name="Other", client_id="x")
    kept = connected(rows, 9)
    Connection.objects.filter(pk=kept.pk).update(sub="bob")
    at_other = connected(rows, 1)
    Connection.objects.filter(pk=at_other.pk).update(provider=other)
    second, third = connected(rows, 2), connected(rows, 3)

    def ended() -> set[str]:
        return set(Connection.objects.filter(status="revoked").values_list("pk", flat=True))

    for wanted, now in (
        (second.pk, {second.pk}),
        ("provider:drive", {second.pk, third.pk, rows.connection.pk}),
        ("all", {second.pk, third.pk, rows.connection.pk, at_other.pk}),
    ):
        assert f'name="row" value="{wanted}"' in admin.get(address(rows)).text
        assert admin.post(address(rows), {"action": "revoke", "row": wanted}).status_code == 302
        assert ended() == now
    assert {(one.user, one.object_id, one.get_change_message()) for one in LogEntry.objects.all()} == {
        (olga, pk, "Revoked.") for pk in ended()
    }
    for wanted in (kept.pk, "all", "provider:drive", "provider:", ""):
        assert admin.post(address(rows), {"action": "revoke", "row": wanted}).status_code == 404, wanted
    for action in ("refund", "cancel", "delete_selected", ""):
        assert admin.post(address(rows), {"action": action, "row": "all"}).status_code == 404, action


def test_t113_their_sessions_are_ended_and_that_is_noted_without_their_name(
    admin: Client, olga: User, rows: Rows
) -> None:
    before = people.session_epoch(ALICE)
    answer = admin.post(address(rows), {"action": "end_sessions"}, follow=True)
    assert "All their sessions have ended." in answer.text
    assert "All sessions that began before" in answer.text
    assert people.session_epoch(ALICE) != before
    [entry] = LogEntry.objects.all()
    assert (entry.user, entry.object_id) == (olga, rows.elicitation.pk)
    assert entry.get_change_message() == "Ended all sessions of the person."
    assert "alice" not in entry.object_repr
    assert "Operator olga" in admin.get(f"/admin/request/{rows.elicitation.pk}/").text


@pytest.mark.parametrize("role", ["viewer", "auditor", "operator", "administrator"])
def test_t112_a_viewer_has_no_page_and_an_auditor_no_buttons(rows: Rows, role: str) -> None:
    browser, acts = enter(role), role in {"operator", "administrator"}
    shown = browser.get(address(rows))
    assert shown.status_code == (403 if role == "viewer" else 200)
    assert ('name="action"' in shown.text) == acts
    for form in ({"action": "end_sessions"}, {"action": "revoke", "row": "all"}):
        assert browser.post(address(rows), form).status_code == (302 if acts else 403)
    assert SignOut.objects.exists() == acts
    assert Connection.objects.filter(status="revoked").exists() == acts


def test_nothing_changes_by_looking(admin: Client, rows: Rows) -> None:
    for form in ({"action": "end_sessions"}, {"action": "revoke", "row": "all"}):
        assert admin.get(address(rows), form).status_code == 200
    assert not SignOut.objects.exists()
    assert not Connection.objects.filter(status="revoked").exists()


def test_long_lists_have_pages_and_ask_no_more_than_short_ones(admin: Client, rows: Rows) -> None:
    def asked(path: str) -> int:
        with CaptureQueriesContext(connection) as caught:
            assert admin.get(path).status_code == 200
        return len(caught)

    def more(count: int) -> None:
        now = clock.now()
        for number in range(count):
            bot = agent(f"bot-{Agent.objects.count()}")
            row = connected(rows, 1000 + Connection.objects.count())
            Connection.objects.filter(pk=row.pk).update(agent=bot, created_at=now - timedelta(hours=number))
            elicitation(bot)
            payment(bot, rows.account)

    more(1)
    asked(address(rows))
    before = asked(address(rows))
    more(60)
    assert asked(address(rows)) == before
    for part in ("connections", "requests", "payments"):
        assert f"?show={part}" in admin.get(address(rows)).text
        first, second = (admin.get(f"{address(rows)}?show={part}&page={page}").text for page in (1, 2))
        assert f"?show={part}&amp;page=2" in first
        assert "Back to the whole page" in second
        assert f"?show={part}&amp;page=3" not in admin.get(f"{address(rows)}?show={part}&page=4").text
    assert admin.get(f"{address(rows)}?show=nothing&page=x").status_code == 200


def test_a_reference_names_a_row_that_is_theirs(rows: Rows) -> None:
    for row in (rows.elicitation, rows.connection, rows.payment):
        found = persons.row_of(row.pk)
        assert found
        assert persons.claim_of(found) == ALICE
    assert persons.reference_to(ALICE) in set(Elicitation.objects.values_list("pk", flat=True))
    Elicitation.objects.all().delete()
    assert persons.reference_to(ALICE) == rows.connection.pk
    Connection.objects.all().delete()
    assert persons.reference_to(ALICE) == rows.payment.pk
    Payment.objects.all().delete()
    assert persons.reference_to(ALICE) is None


def test_what_agents_may_charge_by_themselves_is_on_the_page(admin: Client, rows: Rows) -> None:
    def given(description: str, **more: object) -> Mandate:
        saved = payment(rows.agent, rows.account, mode="mandate", amount=0, status="saved")
        usual = {"agent": rows.agent, "iss": ISSUER, "sub": "alice", "currency": "eur", "per_charge": 2000}
        usual |= {"total": 5000, "until": clock.now() + timedelta(days=90), "status": "active"}
        return Mandate.objects.create(account=rows.account, payment=saved, description=description, **usual | more)

    given("Train tickets")
    given("Coffee", status="ended")
    given("Of nobody's leave", status="asked")
    given("Of Bob", sub="bob")
    assert "Mandates" not in admin.get(f"/admin/person/{elicitation(rows.agent, 'carol').pk}/").text
    shown = admin.get(address(rows)).text
    for words in ("Mandates", "Train tickets", "Coffee", "At most €20.00 per charge and €50.00 in all, until"):
        assert words in shown, words
    assert "nobody's leave" not in shown
    assert "Of Bob" not in shown
