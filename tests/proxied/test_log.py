"""What people read of the calls that agents made through the service, and for how long it is kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import httpx2
import pytest
from django.db import DatabaseError
from pytest_django import Settings

from elicit_flows.domain.values import Claim
from elicit_flows.jobs import purge as purging
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, ConnectionCall
from elicit_flows.people.export import export_data
from elicit_flows.vault import CallLog, call_log
from tests.proxied.conftest import Api
from tests.support.moving import MovingClock
from tests.support.process import until
from tests.support.rows import ALICE_CLAIM, Known
from tests.web.test_room import browser, page

At = Callable[[str], str]


def stored() -> list[ConnectionCall]:
    return list(ConnectionCall.objects.order_by("pk"))


def test_a_person_reads_what_was_called_and_nobody_else_does(
    agent: httpx2.Client, at: At, held: Connection, known: Known, upstream: Api
) -> None:
    agent.get(at("/files/17?q=private"))
    agent.get(at("/files/18"))
    until(lambda: sum(row.count for row in stored()) == 2, "the calls are stored")
    text = page(browser(), f"/account/connections/{held.pk}").text()
    assert f"GET {upstream.host}/v2/files/{{id}}" in text
    assert "Answered with 200, 2 times" in text
    assert "private" not in text
    assert f"{known.row.name} called Drive through this service" in text
    assert f"What {known.row.name} called through this service" in text
    page(browser("bob"), f"/account/connections/{held.pk}", 404)
    Agent.objects.update(tokens_never_leave=True)
    assert "never gets your access itself" in page(browser(), f"/account/connections/{held.pk}").text()


def test_without_calls_the_page_says_nothing_of_them(held: Connection) -> None:
    assert "called through this service" not in page(browser(), f"/account/connections/{held.pk}").text()


def test_the_calls_are_in_the_persons_export(held: Connection) -> None:
    log = CallLog()
    log.add(held.pk, "POST", "api.example.com", "/v2/files", 201)
    log.store()
    [told] = export_data(ALICE_CLAIM)["connections"]
    [call] = told["calls"]
    assert (call["method"], call["host"], call["path"]) == ("POST", "api.example.com", "/v2/files")
    assert (call["status"], call["count"]) == (201, 1)
    assert export_data(Claim(ALICE_CLAIM.iss, "bob"))["connections"] == []


def test_calls_of_an_hour_are_few_rows_whatever_an_agent_calls(held: Connection) -> None:
    log = CallLog()
    for number in range(3):
        for part in range(80):
            word = "".join(chr(ord("a") + int(digit)) for digit in str(number * 80 + part))
            log.add(held.pk, "GET", "api.example.com", f"/{word}", 400 + part % 7)
        log.store()
    rows = stored()
    assert len(rows) <= call_log.MOST_AN_HOUR + 1
    assert sum(row.count for row in rows) == 240
    assert [(row.path, row.status) for row in rows if not row.path] == [("", 400)]


def test_the_next_hour_has_rows_of_its_own(held: Connection, moving_clock: MovingClock) -> None:
    log = CallLog()
    for _ in range(2):
        log.add(held.pk, "GET", "api.example.com", "/x", 200)
        moving_clock.forward(hours=1)
    log.store()
    assert [row.count for row in stored()] == [1, 1]


def test_a_log_that_cannot_be_stored_now_is_stored_later(held: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CallLog()
    log.add(held.pk, "GET", "api.example.com", "/x", 200)
    with monkeypatch.context() as patched:
        patched.setattr(call_log, "_store", lambda taken: (_ for _ in ()).throw(DatabaseError()))
        with pytest.raises(DatabaseError):
            log.store()
    log.add(held.pk, "GET", "api.example.com", "/x", 200)
    log.store()
    assert [row.count for row in stored()] == [2]


def test_calls_of_a_connection_that_was_deleted_meanwhile_are_dropped(held: Connection) -> None:
    log = CallLog()
    log.add(held.pk, "GET", "api.example.com", "/x", 200)
    log.add("cn_gone", "GET", "api.example.com", "/x", 200)
    log.store()
    assert [row.connection_id for row in stored()] == [held.pk]


def test_t119_calls_are_kept_as_long_as_the_operator_says(
    held: Connection, moving_clock: MovingClock, settings: Settings
) -> None:
    settings.ELICIT_KEEP_CALLS = 10
    log = CallLog()
    log.add(held.pk, "GET", "api.example.com", "/old", 200)
    log.store()
    ConnectionCall.objects.update(last_at=clock.now() - timedelta(days=2))
    moving_clock.forward(days=9)
    log.add(held.pk, "GET", "api.example.com", "/new", 200)
    log.store()
    assert purging.purge()["calls"] == 1
    assert [row.path for row in stored()] == ["/new"]
