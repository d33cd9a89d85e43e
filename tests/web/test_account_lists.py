"""The lists of /account: by provider and account, ten at a time, searched, and read by index however long they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elicit_flows import vault
from elicit_flows.brands import page_brand
from elicit_flows.domain.values import Claim
from elicit_flows.elicitations import notify
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, ConnectionUse, Elicitation, Payment, PaymentAccount
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.payments import queries
from elicit_flows.vault import connections
from elicit_flows.web import account, paging
from tests.support import history, money, rows
from tests.support.history import write
from tests.support.reading import Reads, read_by
from tests.support.rows import ALICE_CLAIM, ISSUER, Known
from tests.web.samples import Page
from tests.web.test_room import BOB, browser

pytestmark = pytest.mark.slow

TABS = ("", "/ended", "/requests", "/requests?show=answered", "/payments", "/activity", "/security")


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("committed" if request.param == "SQLite" else "on_postgres")


def opened(client: Client, path: str = "") -> Page:
    answer = client.get(path if path.startswith("/account") else f"/account{path}")
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


def more(page: Page) -> str:
    return next((str(one["href"]) for one in page.all("a") if one.get("rel") == "next"), "")


def walk(client: Client, path: str = "") -> list[Page]:
    """Every page of a list."""
    pages = [opened(client, path)]
    while following := more(pages[-1]):
        pages.append(opened(client, following))
    return pages


def connected(bot: Known, at: ProviderRow, name: str, used: timedelta | None = None, claim: Claim = ALICE_CLAIM) -> str:
    row = rows.connection(bot, at, replace(rows.grant(), account_id=name, account_label=name), claim)
    if used is not None:
        Connection.objects.filter(pk=row.pk).update(last_used_at=clock.now() - used)
    return row.pk


def asked(bot: Known, message: str, number: int = 0, sub: str = "alice") -> None:
    now = clock.now()
    Elicitation.objects.create(
        agent=bot.row, kind="confirm", iss=ISSUER, sub=sub, message=message,
        created_at=now - timedelta(seconds=number), expires_at=now + timedelta(hours=1),
    )  # fmt: skip


def revokes(page: Page) -> list[str]:
    return [str(one["action"]).split("/")[3] for one in page.forms() if one.get("data-action") == "revoke"]


def test_what_is_over_is_listed_apart_with_how_it_ended_ten_at_a_time(database: None) -> None:
    bot = rows.agent("drive-bot")
    ends = ("completed", "declined", "expired", "cancelled", "failed")
    for number in range(25):
        asked(bot, f"Question {number}.", number)
    for number, row in enumerate(Elicitation.objects.order_by("-created_at")[:23]):
        Elicitation.objects.filter(pk=row.pk).update(status=ends[number % 5], finished_at=clock.now())
    asked(bot, "Of Bob.", sub="bob")
    Elicitation.objects.filter(sub="bob").update(status="completed", finished_at=clock.now())
    pages = walk(browser(), "/requests?show=answered")
    assert [len(re.findall(r"Question \d+\.", page.text())) for page in pages] == [10, 10, 3]
    text = pages[0].text()
    for how in ("You said yes", "You said no", "This request has expired", "The request was withdrawn", "didn't work"):
        assert how in text, how
    assert not [page for page in pages if "Bob" in page.text()]
    assert "Question 23." not in text, "it still waits"
    assert re.findall(r"Question \d+\.", opened(browser(), "/requests").text()) == ["Question 23.", "Question 24."]
    found = opened(browser(), "/requests?show=answered&q=tion+7.")
    assert re.findall(r"Question \d+\.", found.text()) == ["Question 7."]
    assert {"name": "show", "type": "hidden", "value": "answered"} in found.all("input")
    assert "/account/requests?show=answered" in [one["href"] for one in found.all("a") if one.get("class") == "reach"]


def test_connections_stand_by_provider_and_account_with_the_last_used_first(committed: None) -> None:
    one, two = rows.agent("one-bot"), rows.agent("two-bot")
    mail, drive = rows.provider(slug="mail"), rows.provider()
    never = connected(one, mail, "old@mail")
    Connection.objects.filter(pk=never).update(created_at=clock.now() - timedelta(days=91))
    late = connected(two, drive, "a@drive", timedelta(days=3))
    first = connected(one, drive, "a@drive", timedelta(hours=1))
    other = connected(one, drive, "b@drive", timedelta(hours=2))
    page = opened(browser())
    assert revokes(page) == [first, late, other, never]
    assert re.findall(r"<h2>\s*<bdi>(.*?)</bdi></h2>", page.source) == ["Drive", "Mail"], "each once"
    text = page.text()
    assert [text.count(said) for said in ("Not used for 90 days", "Used 1 hour ago")] == [1, 1]
    assert "2 agents with access 3 of your accounts in use No request waiting" in text
    assert "Disconnect everything at Drive" in text
    assert "Disconnect everything at Mail" not in text, "it is one"


def test_each_row_of_a_long_list_stands_on_one_page(database: None) -> None:
    bot, drive = rows.agent(), rows.provider()
    held = [connected(bot, drive, f"{number}@drive", timedelta(minutes=number // 3)) for number in range(25)]
    for number in range(12):
        asked(bot, f"Question {number}.", number)
    for pk in held:
        connections.log_access(Connection.objects.get(pk=pk), ConnectionUse.Action.FETCHED, ConnectionUse.Actor.AGENT)
    alice = browser()
    pages = walk(alice)
    found = [pk for page in pages for pk in revokes(page)]
    assert [len(revokes(page)) for page in pages] == [10, 10, 5]
    assert sorted(found) == sorted(held)
    used = {row.pk: row.last_used_at or row.created_at for row in Connection.objects.all()}
    assert all(used[before] >= used[after] for before, after in pairwise(found))
    assert [page.text().count("Disconnect everything at Drive") > 0 for page in pages] == [True, True, True]
    assert [page.text().count("Question ") for page in walk(alice, "/requests")] == [10, 2]
    times = [len(page.all("time")) for page in walk(alice, "/activity")]
    assert (sum(times), times[:-1]) == (50, [10] * 4), "each was connected and fetched"
    for pk in held[:13]:
        vault.revoke(Connection.objects.get(pk=pk), ConnectionUse.Actor.PERSON)
    assert [len(re.findall(r"Drive for", page.text())) for page in walk(alice, "/ended")] == [10, 3]


def test_who_searches_finds_by_provider_account_agent_and_words(committed: None) -> None:
    one, two = rows.agent("one-bot"), rows.agent("two-bot")
    Agent.objects.filter(pk=two.row.pk).update(name="Helper")
    mail, drive = rows.provider(slug="mail"), rows.provider()
    a, b, c = connected(one, mail, "x@mail"), connected(one, drive, "y@drive"), connected(two, drive, "z@drive")
    hers = connected(one, drive, "y@hers", claim=BOB)
    asked(one, "May I delete it?")
    asked(two, "Pay 5 euros?")
    asked(one, "Not hers to see?", sub="bob")
    alice = browser()
    found: dict[str, set[str]] = {"mail": {a}, "y@DRIVE": {b}, "helper": {c}, "drive": {b, c}, "hers": set()}
    for words, there in found.items():
        assert set(revokes(opened(alice, f"?q={words}"))) == there, words
    assert hers not in opened(alice, "?q=y").source
    for words, there in (("delete", "May I delete it?"), ("helper", "Pay 5 euros?"), ("see", "")):
        text = opened(alice, f"/requests?q={words}").text()
        assert [said for said in ("May I delete it?", "Pay 5 euros?", "Not hers") if said in text] == [there] * bool(
            there
        )
    assert "Nothing was found." in opened(alice, "?q=zzz").text()


@pytest.mark.parametrize("tab", TABS)
def test_an_address_that_nobody_was_given_shows_the_first_page(database: None, tab: str) -> None:
    connected(rows.agent(), rows.provider(), "a@drive")
    alice = browser()
    wrong = (
        "x",
        "-",
        "1-",
        "99999999999999999-cn_x",
        "1-x",
        "1-" + "9" * 64,
        "%0A",
        "1-%E2%80%AE",
        "9" * 400,
        "1-cn_'--",
    )
    for after in wrong:
        for rest in (
            f"?after={after}",
            f"?q=%0A{after}&after=2-a",
            f"?ended={after}",
            f"?ended_of={after}&show={after}",
        ):
            assert alice.get(f"/account{tab}{rest}").status_code == 200, rest


def test_all_at_one_provider_ends_and_the_answer_says_so_once(committed: None) -> None:
    one, two = rows.agent("one-bot"), rows.agent("two-bot")
    mail, drive = rows.provider(slug="mail"), rows.provider()
    kept = connected(one, mail, "x@mail"), connected(one, drive, "y@drive", claim=BOB)
    for bot in (one, two):
        connected(bot, drive, "y@drive")
    alice = browser()
    answer = alice.post("/account/providers/drive/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, "/account?ended_at=drive")
    assert "Everything at Drive is disconnected." in opened(alice, answer.headers["location"]).text()
    assert set(Connection.objects.filter(revoked_at=None).values_list("pk", flat=True)) == set(kept)
    assert ConnectionUse.objects.filter(action="revoked", actor="person").count() == 2
    assert alice.post("/account/providers/drive/revoke").status_code == 404
    connected(one, drive, "y@drive")
    assert "is disconnected" not in opened(alice, "?ended_at=drive").text(), "it is not so any more"
    assert "is disconnected" not in opened(browser("bob"), "?ended_at=drive").text()


def test_the_answer_to_disconnect_says_what_ended_and_how_to_have_it_again(committed: None) -> None:
    bot = rows.agent("one-bot")
    held = connected(bot, rows.provider(), "y@drive")
    alice = browser()
    text = opened(alice, f"?ended={held}").text()
    assert "disconnected." not in text, "it has not ended"
    answer = alice.post(f"/account/connections/{held}/revoke")
    text = opened(alice, answer.headers["location"]).text()
    assert "Drive disconnected." in text
    assert "This cannot be undone here. To connect it again, ask" in text
    assert "disconnected." not in opened(browser("bob"), f"?ended={held}").text()


def test_what_all_agents_did_stands_in_the_readers_own_days(committed: None) -> None:
    bot, drive = rows.agent(), rows.provider()
    held, hers = connected(bot, drive, "y@drive"), connected(bot, drive, "z@drive", claim=BOB)
    ConnectionUse.objects.all().delete()
    noted = [("2026-11-20 22:30", held), ("2026-11-20 23:40", held), ("2026-11-21 00:10", hers)]
    for text, pk in noted:
        at = datetime.fromisoformat(text).replace(tzinfo=UTC)
        hour = at.replace(minute=0)
        ConnectionUse.objects.create(
            connection_id=pk, action="fetched", actor="agent", hour=hour, first_at=at, last_at=at
        )
    alice = browser()
    utc = opened(alice, "/activity").text()
    assert utc.index("11:40 PM UTC") < utc.index("10:30 PM UTC"), "the newest first"
    assert "November 20, 2026" in utc
    assert "12:10" not in utc
    alice.cookies["timezone"] = "Europe/Berlin"
    berlin = opened(alice, "/activity").text()
    assert berlin.index("November 21, 2026") < berlin.index("November 20, 2026")


@pytest.mark.parametrize("tab", TABS)
def test_a_page_takes_as_many_statements_for_many_rows_as_for_few(committed: None, tab: str) -> None:
    bot, at = rows.agent(), money.account()
    _some(bot, at, 2)
    alice = browser()
    few = _statements(alice, tab)
    _some(bot, at, 12)
    assert _statements(alice, tab) == few


def _some(bot: Known, at: PaymentAccount, count: int) -> None:
    for number in range(count):
        drive = rows.provider(slug=f"drive-{count}-{number}")
        agent = rows.agent()
        connected(agent, drive, f"{number}@drive")
        vault.revoke(Connection.objects.get(pk=connected(bot, drive, f"{number}@drive")))
        money.payment(bot, at)
        asked(agent, "May I?")


def _statements(client: Client, tab: str) -> int:
    opened(client, tab)
    # Both are looked up once a second, so in one of two counts.
    page_brand.forget()
    notify.forget()
    with CaptureQueriesContext(connection) as caught:
        opened(client, tab)
    return len(caught)


MANY = 20_000
CAROL = Claim(ISSUER, "carol")
HELD = 16


READS: dict[str, Callable[[], object]] = {
    "requests": lambda: _first(account.waiting(ALICE_CLAIM), "created_at"),
    "answered requests": lambda: _first(account.over(ALICE_CLAIM), "created_at"),
    "connections": lambda: _first(vault.by_use(ALICE_CLAIM), "used"),
    "the summary": lambda: vault.count_held(ALICE_CLAIM),
    "disconnected": lambda: _first(vault.ended(CAROL), "revoked_at"),
    "payments": lambda: _first(queries.made_by(ALICE_CLAIM), "created_at"),
    "earlier payments": lambda: paging.newest(queries.made_by(ALICE_CLAIM), "created_at")((_long_ago(), "pa_x"), 11),
    "activity": lambda: vault.uses_by(ALICE_CLAIM, None, 11),
    "earlier activity": lambda: vault.uses_by(ALICE_CLAIM, (_long_ago(), 0), 11),
    "of one connection": lambda: vault.uses_of(_one(), (_long_ago(), 0), 11),
}


@pytest.mark.parametrize("name", READS)
def test_no_list_is_read_through_for_its_ten_newest_rows(a_long_past: None, name: str) -> None:
    """What a person has not ended is read whole. Of all else, theirs and others', only what the page shows is."""
    reads, plans = read_by(READS[name])
    assert reads.within(Reads(rows=700, pages=1000)), f"{reads}\n{plans}"


def _first(found: QuerySet[Any], field: str) -> object:
    return paging.newest(found, field)(None, 11)


def _one() -> Connection:
    return Connection.objects.filter(sub="alice").latest("created_at")


def _long_ago() -> datetime:
    return clock.now() - timedelta(days=10)


@pytest.fixture
def a_long_past(on_postgres: str) -> None:
    """Sixteen connections with 20,000 uses, thousands that ended, thousands of payments, and those of others."""
    bot, at, drive = rows.agent(), money.account(), rows.provider()
    held = [connected(bot, drive, f"{number}@drive") for number in range(HELD)]
    alice = {"agent_id": str(bot.row.pk), "iss": f"'{ISSUER}'", "sub": "'alice'", "id": "'past-' || n"}
    when = "now() - n * interval '5 minutes'"
    pks = "ARRAY[" + ",".join(f"'{pk}'" for pk in held) + "]"
    used = {"connection_id": f"({pks})[1 + mod(n, {HELD})]", "hour": f"date_trunc('hour', {when})"}
    write(ConnectionUse, MANY, {**used, "first_at": when, "last_at": when}, action="fetched", actor="agent")
    account_id = {"account_id": "'past-' || n", "created_at": when, "provider_id": str(drive.pk)}
    write(Connection, MANY // 4, {**alice, **account_id, "sub": "'carol'", "revoked_at": when}, status="revoked")
    paid = {"account_id": str(at.pk), "created_at": when}
    write(Payment, MANY // 4, {**alice, **paid}, status="paid", mode="pay", amount=5)
    over = {"created_at": when, "expires_at": when, "finished_at": when, "kind": "'confirm'", "status": "'completed'"}
    write(Elicitation, MANY // 4, {**alice, **over})
    history.vacuum()
