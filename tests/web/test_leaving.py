"""Exporting one's data, and deleting all of it."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection as database
from django.db import transaction
from django.test import Client

from elicit_flows import elicitations, people, vault
from elicit_flows.domain.errors import AlreadyOver
from elicit_flows.domain.values import Again, Answer, Claim, Finish, Question, Visit
from elicit_flows.events import feed
from elicit_flows.jobs import worker
from elicit_flows.kinds.credentials.kind import Credentials
from elicit_flows.models import (
    Cancellation,
    Connection,
    Elicitation,
    Erasure,
    Event,
    Payment,
    PaymentAccount,
    PendingGrant,
)
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.people import erasure, export
from tests.support import jobs, money, rows
from tests.support.moving import MovingClock
from tests.support.rows import ISSUER, Known
from tests.web.samples import ROOT, Page
from tests.web.test_room import browser, page

ALICE = Claim(ISSUER, "alice-of-the-canaries")
PRIVATE = ("alice-of-the-canaries", "my-private-words", "typed-s3cret", "the-private-question", "half-written")
SCHEMA = {"properties": {"word": {"type": "string"}}, "required": ["word"]}


@pytest.fixture
def drive(request: pytest.FixtureRequest) -> ProviderRow:
    """On SQLite, where a test does not name another database."""
    request.getfixturevalue(getattr(request, "param", "committed"))
    return rows.provider()


@pytest.fixture
def bot(drive: ProviderRow) -> Known:
    return rows.agent("drive-bot")


@pytest.fixture
def account(drive: ProviderRow) -> PaymentAccount:
    return money.account(allow_mandates=True)


def ask(bot: Known, kind: str, params: dict[str, Any], claim: Claim = ALICE) -> Elicitation:
    return elicitations.create(
        bot.row, Question(kind, claim, "the-private-question", params, metadata={"call": "my-note"})
    )[0]


def answer(row: Elicitation, **controls: str) -> None:
    elicitations.submit(row.pk, row.claim, typed(row, **controls))


def typed(row: Elicitation, **controls: str) -> Answer:
    """What the page sends."""
    shown = elicitations.page_draft(row)
    sent = controls | ({"asked": shown.asked, "seen": str(shown.seq)} if shown else {})
    return Answer({name: [value] for name, value in sent.items()})


@pytest.fixture
def life(bot: Known, drive: ProviderRow, account: PaymentAccount) -> dict[str, Any]:
    """What there may be of a person: answered and open questions, a draft, tokens, a key, money."""
    answered = ask(bot, "form", {"schema": SCHEMA})
    answer(answered, q0="my-private-words")
    keys = ask(bot, "credentials", {"fields": [{"name": "key", "label": "Key", "secret": True}]})
    answer(keys, key="typed-s3cret")
    half = ask(bot, "form", {"schema": SCHEMA})
    elicitations.save_page(half.pk, ALICE, "q0", typed(half, q0="half-written"))
    held = rows.connection(bot, drive, rows.grant(account="alice-of-the-canaries", expires_in=10**6), ALICE)
    vault.token(bot.row, held.pk)
    paid = money.payment(bot, account, ALICE)
    return {"answered": answered, "keys": keys, "half": half, "held": held, "paid": paid}


@pytest.fixture
def spending(life: dict[str, Any], bot: Known, account: PaymentAccount) -> dict[str, Any]:
    """What goes on after one payment: a mandate with a charge, a subscription with a renewal, an authorization."""
    allowed, going = money.mandate(bot, account, ALICE), money.subscription(bot, account, ALICE)
    return {
        "mandates": allowed, "charges": money.charge(allowed),
        "subscriptions": going, "renewals": money.renewal(going),
        "authorizations": money.authorization(bot, money.wallet(), ALICE, url="https://weather.example/half-written"),
    }  # fmt: skip


def stored() -> str:
    """Every row of every table of ours."""
    found = []
    with database.cursor() as cursor:
        for table in database.introspection.table_names(cursor):
            if table.startswith("elicit_flows_"):
                cursor.execute(f'SELECT * FROM "{table}"')
                found += [f"{table} {row}" for row in cursor.fetchall()]
    return "\n".join(found)


def types(bot: Known) -> list[str]:
    return [event.type for event in feed.after(bot.row.pk, 0, 100)]


def test_what_is_exported_is_all_there_is_and_no_secret(life: dict[str, Any], bot: Known) -> None:
    told = browser(ALICE.sub).get("/account/export")
    assert "attachment" in told.headers["content-disposition"]
    said = json.loads(told.text)
    assert said["subject"] == {"iss": ISSUER, "sub": ALICE.sub}
    assert {one["id"] for one in said["elicitations"]} == {life[name].pk for name in ("answered", "keys", "half")}
    by_id = {one["id"]: one for kind in ("elicitations", "connections", "payments") for one in said[kind]}
    assert by_id[life["answered"].pk]["result"] == {"content": {"word": "my-private-words"}}
    assert "half-written" in json.dumps(by_id[life["half"].pk]["drafts"])
    assert [one["action"] for one in by_id[life["held"].pk]["uses"]] == ["connected", "fetched"]
    assert by_id[life["paid"].pk]["signed_receipt"] == f"/account/payments/{life['paid'].pk}/receipt"
    assert by_id[life["held"].pk]["agent"] == {"slug": "drive-bot", "name": bot.row.name}
    token = vault.token(bot.row, life["held"].pk)["access_token"]
    for secret in (token, "typed-s3cret", "my-note", "v1.k1."):
        assert secret not in told.text


def test_what_goes_on_is_exported_and_shown_before_the_deletion(spending: dict[str, Any]) -> None:
    said = json.loads(browser(ALICE.sub).get("/account/export").text)
    for name in ("mandates", "subscriptions", "authorizations"):
        assert [one["id"] for one in said[name]] == [spending[name].pk]
    assert [one["id"] for one in said["mandates"][0]["charges"]] == [spending["charges"].pk]
    assert [one["id"] for one in said["subscriptions"][0]["renewals"]] == [spending["renewals"].pk]
    assert "Your subscriptions end at once" in page(browser(ALICE.sub), "/account/delete").text()


@pytest.mark.parametrize("drive", ["committed", "on_postgres"], indirect=True)
def test_t119_what_goes_on_keeps_no_name_after_the_deletion(
    spending: dict[str, Any], moving_clock: MovingClock
) -> None:
    Payment.objects.filter(status="active").update(status="ended")
    browser(ALICE.sub).post("/account/delete")
    spending["mandates"].refresh_from_db()
    assert (spending["mandates"].status, spending["mandates"].ended_by) == ("ended", "person")
    people.sweep_erasures()
    Connection.objects.filter(upstream="pending").update(upstream="done", access_token="", refresh_token="")
    Cancellation.objects.all().delete()
    moving_clock.forward(minutes=61)
    people.sweep_erasures()
    erasure, left = Erasure.objects.get(), stored()
    assert erasure.done_at is not None
    for said in PRIVATE:
        assert said not in left.replace(sign_out(left), ""), said
    for name in ("mandates", "subscriptions", "authorizations"):
        spending[name].refresh_from_db()
        assert (spending[name].iss, spending[name].sub) == ("", erasure.pk), name


def test_the_page_describes_every_member_of_the_export(life: dict[str, Any], spending: dict[str, Any]) -> None:
    page = (ROOT / "docs/reference/account-pages.md").read_text()
    described = page.partition("## Taking everything along")[2].partition("\n## ")[0]
    said = people.export_data(ALICE)
    ours = {name for kind in ("connections", "payments") for one in said[kind] for name in one} - set(_of_the_api())
    for name in (*said, *ours, *said["connections"][0]["uses"][0], "steps", "drafts", "events"):
        assert f"`{name}`" in described or f"{name}," in described or f", {name}" in described, name


def _of_the_api() -> dict[str, Any]:
    return {**Connection(provider=None).summary(), **Payment(account=PaymentAccount()).summary()}


@pytest.mark.parametrize("age", [301, 11 * 3600])
def test_t140_an_old_session_takes_nothing_along_and_deletes_nothing(life: dict[str, Any], age: int) -> None:
    stolen = browser(ALICE.sub, age)
    for answer, following in (
        (stolen.get("/account/export"), "/account"),
        (stolen.get("/account/delete"), "/account/delete"),
        (stolen.post("/account/delete"), "/account/delete"),
    ):
        shown = Page(answer.text)
        assert shown.all("body")[0]["data-page"] == "signin"
        assert "Sign in again" in shown.text()
        sent = {str(one["name"]): one.get("value") for one in shown.all("input")}
        assert (sent["next"], sent["again"]) == (following, "yes")
        for word in PRIVATE:
            assert word not in answer.text
    assert stolen.post("/account/delete").status_code == 403
    assert not Erasure.objects.exists()
    assert "attachment" in browser(ALICE.sub, 290).get("/account/export").headers["content-disposition"]


def test_nothing_of_another_person_is_exported(life: dict[str, Any]) -> None:
    said = json.loads(browser("bob").get("/account/export").text)
    assert [name for name, value in said.items() if isinstance(value, list) and value] == ["sessions"]
    assert len(said["sessions"]) == 1, "the one that asks"
    assert Page(Client().get("/account/export").text).all("body")[0]["data-page"] == "signin"


def test_who_deletes_everything_is_told_first_what_goes_and_what_stays(life: dict[str, Any], bot: Known) -> None:
    money.payment(bot, life["paid"].account, ALICE, status="active", description="The paper")
    alice = browser(ALICE.sub)
    text = page(alice, "/account/delete").text()
    for said in ("2 connections", "3 requests", "(2 payments)", "The paper", "subscriptions end at once"):
        assert said in text, said
    assert Connection.objects.filter(status="revoked").count() == 0, "looking changes nothing"
    assert page(alice).all("body")[0]["data-page"] == "account"


def test_who_deletes_everything_need_not_wait_for_an_export(
    life: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row that cannot be exported held up the deletion as well."""
    for module in (people, export):
        monkeypatch.setattr(module, "export_data", _die)
    assert "2 connections" in page(browser(ALICE.sub), "/account/delete").text()


@pytest.mark.parametrize("drive", ["committed", "on_postgres"], indirect=True)
def test_t119_everything_about_a_person_goes_when_they_say_so(
    life: dict[str, Any], bot: Known, moving_clock: MovingClock
) -> None:
    here, there = browser(ALICE.sub), browser(ALICE.sub)
    assert here.post("/account/delete").headers["location"] == "/account/deleted"
    assert "Everything is being deleted" in page(here, "/account/deleted").text()
    for client in (here, there):
        assert page(client).all("body")[0]["data-page"] == "signin"
    assert Connection.objects.exclude(status="revoked").count() == 0, "at once"
    people.sweep_erasures()
    assert elicitations.find(life["half"].pk).status == "cancelled"
    assert types(bot)[-3:].count("connection.revoked") == 2
    assert "elicitation.cancelled" in types(bot)
    assert Elicitation.objects.count() == 3, "an agent that polls may still read how it ended"
    Connection.objects.filter(upstream="pending").update(upstream="done", access_token="", refresh_token="")
    moving_clock.forward(minutes=61)
    people.sweep_erasures()
    left = stored()
    for said in PRIVATE:
        assert said not in left.replace(sign_out(left), ""), said
    assert not Connection.objects.exists()
    assert Erasure.objects.get().done_at is not None
    kept = Payment.objects.get()
    assert (kept.iss, kept.sub, kept.amount) == ("", Erasure.objects.get().pk, life["paid"].amount)
    assert len(types(bot)) == Event.objects.count() > 0, "what happened is kept, without what was said"


def sign_out(left: str) -> str:
    """The row that keeps old sessions out goes by itself after a day."""
    return next(line for line in left.splitlines() if line.startswith("elicit_flows_signout"))


def test_t119_the_deletion_and_the_export_know_every_table_that_names_a_person() -> None:
    """Whoever adds a table decides here what becomes of its rows."""
    named = {model.__name__ for model in apps.get_models() if any(field.name == "sub" for field in model._meta.fields)}
    deleted = {
        "Connection",
        "Contact",
        "Customer",
        "Elicitation",
        "Member",
        "PushSubscription",
        "IdentityAssertion",
        "Recipient",
        "SignedIn",
    }
    renamed = {"Authorization", "Payment", "Entitlement", "Mandate", "Subscription"}
    gone_by_themselves = {"SignOut", "LoginAssertion"}  # within hours
    assert named == deleted | renamed | gone_by_themselves | {"Erasure"}


def test_t119_what_others_have_stays_and_who_comes_back_begins_anew(
    life: dict[str, Any], bot: Known, drive: ProviderRow, moving_clock: MovingClock
) -> None:
    bobs = rows.connection(bot, drive, claim=Claim(ISSUER, "bob"))
    browser(ALICE.sub).post("/account/delete")
    people.sweep_erasures()
    moving_clock.forward(seconds=1)
    new = rows.connection(bot, drive, rows.grant(expires_in=10**6), ALICE)
    asked = ask(bot, "form", {"schema": SCHEMA})
    elicitations.cancel(asked)
    Connection.objects.filter(upstream="pending").update(upstream="done")
    moving_clock.forward(minutes=61)
    jobs.tick()
    assert set(Connection.objects.all()) == {bobs, new}
    assert [row.pk for row in Elicitation.objects.all()] == [asked.pk]
    assert Event.objects.filter(type="elicitation.cancelled").latest("position").data["message"] != ""
    assert Erasure.objects.get().done_at is not None


def test_t119_a_payment_method_that_was_saved_is_removed_with_everything_else(
    life: dict[str, Any], bot: Known, account: PaymentAccount
) -> None:
    saved = money.payment(bot, account, ALICE, mode="save", amount=0, status="saved")
    others = money.payment(bot, account, Claim(ISSUER, "bob"), mode="save", amount=0, status="saved")
    granted = money.entitlement(saved)
    people.request_erasure(ALICE)
    assert [one.payment_id for one in Cancellation.objects.exclude(try_at=None)] == [saved.pk], "the provider is told"
    granted.refresh_from_db()
    assert (Payment.objects.get(pk=saved.pk).status, granted.status) == ("removed", "revoked")
    assert Payment.objects.get(pk=others.pk).status == "saved"
    assert Event.objects.filter(type="payment.removed").count() == 1


def test_t119_a_subscription_is_ended_and_keeps_the_name_until_its_provider_has_confirmed_that(
    life: dict[str, Any], bot: Known, account: PaymentAccount, moving_clock: MovingClock
) -> None:
    going, others = (money.subscription(bot, account, claim) for claim in (ALICE, Claim(ISSUER, "bob")))
    granted = money.entitlement(going.payment)
    browser(ALICE.sub).post("/account/delete")
    [asked] = Cancellation.objects.all()
    assert (asked.payment, asked.at_once, asked.by) == (going.payment, True, "person")
    Connection.objects.filter(upstream="pending").update(upstream="done", access_token="", refresh_token="")
    for _ in range(3):
        moving_clock.forward(hours=30)
        people.sweep_erasures()
        going.refresh_from_db()
        assert (going.claim, Erasure.objects.get().done_at) == (ALICE, None), "it still costs money"
        assert Cancellation.objects.count() == 1
    new = money.payment(bot, account, ALICE)
    Payment.objects.filter(pk=going.payment_id).update(status="ended")
    moving_clock.forward(minutes=11)
    people.sweep_erasures()
    erasure = Erasure.objects.get()
    assert erasure.done_at is not None
    for one in (going, granted, Payment.objects.get(pk=going.payment_id)):
        one.refresh_from_db()
        assert (one.iss, one.sub) == ("", erasure.pk)
    others.refresh_from_db()
    new.refresh_from_db()
    assert (others.sub, new.claim) == ("bob", ALICE), "who comes back begins anew"


def test_t119_an_erasure_waits_for_money_that_is_on_its_way(
    life: dict[str, Any], bot: Known, account: PaymentAccount, moving_clock: MovingClock
) -> None:
    money.payment(bot, account, ALICE, status="processing", paid_at=None)
    assert "on their way from your bank" in page(browser(ALICE.sub), "/account/delete").text()
    browser(ALICE.sub).post("/account/delete")
    Connection.objects.filter(upstream="pending").update(upstream="done", access_token="", refresh_token="")
    for status, done in (("processing", False), ("paid", True)):
        Payment.objects.filter(status="processing").update(status=status)
        moving_clock.forward(hours=2)
        people.sweep_erasures()
        assert (Erasure.objects.get().done_at is not None) is done


def test_an_erasure_waits_for_a_provider_that_has_yet_to_be_told(
    life: dict[str, Any], moving_clock: MovingClock
) -> None:
    browser(ALICE.sub).post("/account/delete")
    people.sweep_erasures()
    moving_clock.forward(hours=2)
    people.sweep_erasures()
    assert Connection.objects.get().upstream == "pending", "its token is needed to tell"
    assert Erasure.objects.get().done_at is None
    assert "is being deleted" in page(browser_again(ALICE)).text()
    Connection.objects.update(upstream="done")
    moving_clock.forward(minutes=11)
    people.sweep_erasures()
    assert not Connection.objects.exists()
    assert Erasure.objects.get().done_at is not None


def test_an_erasure_waits_for_a_grant_that_has_yet_to_be_given_back(
    life: dict[str, Any], moving_clock: MovingClock
) -> None:
    with transaction.atomic():
        vault.store_pending_grant(life["answered"], life["held"], rows.grant(account="another"))
    browser(ALICE.sub).post("/account/delete")
    people.sweep_erasures()
    Connection.objects.filter(upstream="pending").update(upstream="done")
    moving_clock.forward(minutes=61)
    people.sweep_erasures()
    assert PendingGrant.objects.get().elicitation == Elicitation.objects.get() == life["answered"]
    assert Connection.objects.get() == life["held"]
    PendingGrant.objects.all().delete()
    moving_clock.forward(minutes=11)
    people.sweep_erasures()
    assert not Elicitation.objects.exists()
    assert Erasure.objects.get().done_at is not None


def browser_again(claim: Claim) -> Client:
    """Signed in after everything was signed out."""
    client = browser(claim.sub)
    session = client.session
    session["person"] |= {"epoch": people.session_epoch(claim)}
    session.save()
    return client


def test_an_erasure_that_was_cut_off_is_gone_on_with(
    life: dict[str, Any], bot: Known, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies right after the button was pressed has recorded that everything is to be deleted."""
    with monkeypatch.context() as dying:
        dying.setattr(vault, "revoke", _die)
        with pytest.raises(SystemExit):
            browser(ALICE.sub).post("/account/delete")
    assert Connection.objects.filter(status="revoked").count() == 0
    for _ in range(2):
        worker.expire()
        Connection.objects.filter(upstream="pending").update(upstream="done")
        moving_clock.forward(minutes=61)
    assert not Connection.objects.exists()
    assert types(bot).count("connection.revoked") == 2, "each is told once"


def test_t119_what_is_being_answered_at_that_moment_is_not_kept(
    life: dict[str, Any], bot: Known, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider is asked for seconds, and the person may press the button in another tab meanwhile."""
    real = Credentials.resume

    def slowly(kind: Credentials, visit: Visit, sent: Answer) -> Finish | Again:
        browser(ALICE.sub).post("/account/delete")
        moving_clock.forward(seconds=2)
        return real(kind, visit, sent)

    monkeypatch.setattr(Credentials, "resume", slowly)
    keys = ask(bot, "credentials", {"fields": [{"name": "other", "label": "Other", "secret": True}]})
    answer(keys, other="typed-s3cret")
    people.sweep_erasures()
    assert not Connection.objects.exclude(status="revoked").exists()
    assert elicitations.find(keys.pk).status == "cancelled"


def test_t119_what_was_answered_just_before_it_could_be_called_off_is_revoked(
    life: dict[str, Any], bot: Known, drive: ProviderRow, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(row: Elicitation) -> None:
        moving_clock.forward(seconds=2)
        rows.connection(bot, drive, rows.grant(expires_in=10**6), ALICE)
        raise AlreadyOver("The elicitation is completed already.")

    monkeypatch.setattr(erasure, "cancel", too_late)
    browser(ALICE.sub).post("/account/delete")
    assert Connection.objects.count() == 3
    assert not Connection.objects.exclude(status="revoked").exists()


def _die(*args: object) -> None:
    raise SystemExit


def test_who_asks_by_letter_is_forgotten_by_hand(life: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match=r"'https://idp\.wrong' is not the issuer of an identity provider here"):
        call_command("forget", "https://idp.wrong", ALICE.sub)
    assert not Erasure.objects.exists()
    call_command("forget", ISSUER, ALICE.sub, stdout=io.StringIO())
    assert Erasure.objects.get().claim == ALICE
    assert not Connection.objects.exclude(status="revoked").exists()


def test_a_second_press_reaches_what_has_come_since(
    life: dict[str, Any], bot: Known, drive: ProviderRow, moving_clock: MovingClock
) -> None:
    browser(ALICE.sub).post("/account/delete")
    moving_clock.forward(minutes=5)
    new = rows.connection(bot, drive, rows.grant(expires_in=10**6), ALICE)
    browser_again(ALICE).post("/account/delete")
    new.refresh_from_db()
    assert new.status == "revoked"
    assert Erasure.objects.get().asked_at > life["held"].created_at + timedelta(minutes=5)
