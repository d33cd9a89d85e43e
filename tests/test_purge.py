"""T119: what is over is kept for a while, then goes; what is not over stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from elicit_flows import flow, tasks, vault, worker
from elicit_flows import purge as purging
from elicit_flows.lib import clock
from elicit_flows.models import Attempt, Connection, Delivery, Elicitation, Event, Provider
from elicit_flows.queue import feed
from elicit_flows.values import Claim, Question
from tests.support import rows
from tests.support.moving import MovingClock
from tests.support.rows import Known

DAYS = {"attempts": 1, "deliveries": 30, "events": 90, "elicitations": 90}


@pytest.fixture
def drive(committed: None) -> Provider:
    return rows.provider()


@pytest.fixture
def known(drive: Provider) -> Known:
    return rows.agent(webhook_url="http://127.0.0.1:9/hooks")


def ask(known: Known, days: int = 1) -> Elicitation:
    question = Question("oauth", rows.ALICE_CLAIM, "a message that is personal", {"provider": "drive"}, days * 86400)
    return flow.create(known.row, question)[0]


def left_over(row: Elicitation) -> Attempt:
    now = clock.now()
    return Attempt.objects.create(
        elicitation=row, state_hash=row.pk, browser_hash="x", stash="", created_at=now,
        expires_at=now + timedelta(minutes=10),
    )  # fmt: skip


def test_t119_what_is_over_goes_after_its_days_and_not_before(known: Known, moving_clock: MovingClock) -> None:
    row = ask(known)
    left_over(row)
    flow.cancel(row)
    Delivery.objects.update(status="delivered")
    counts = {"attempts": Attempt, "deliveries": Delivery, "events": Event, "elicitations": Elicitation}
    before = {name: model._default_manager.count() for name, model in counts.items()}
    assert before == {"attempts": 1, "deliveries": 2, "events": 2, "elicitations": 1}
    began, gone = clock.now(), dict.fromkeys(before, 0)
    for day in range(1, 93):
        moving_clock.forward(days=1, minutes=-5 if day == 1 else 0)  # a little before the day is full
        purging.purge()
        for name, model in counts.items():
            if not gone[name] and not model._default_manager.exists():
                gone[name] = day - 1
    assert clock.now() - began < timedelta(days=92)
    assert {name: gone[name] for name in ("deliveries", "events")} == {"deliveries": 30, "events": 90}
    assert gone["attempts"] == DAYS["attempts"]
    assert gone["elicitations"] == DAYS["elicitations"]


def test_t119_what_is_not_over_stays(known: Known, drive: Provider, moving_clock: MovingClock) -> None:
    open_one = ask(known, days=1)
    held = rows.connection(known, drive)
    Delivery.objects.update(status="pending")
    moving_clock.forward(days=400)
    purging.purge()
    assert Connection.objects.get().pk == held.pk
    assert vault.held_by(Claim(rows.ISSUER, "alice")).exists()
    assert Elicitation.objects.get().pk == open_one.pk, "nobody has ended it, the sweeper is what does"
    assert Delivery.objects.count() == Event.objects.count() == 1, "an event that is still to be delivered"


def test_t119_the_events_outlive_the_question_that_they_tell_of(known: Known, moving_clock: MovingClock) -> None:
    """The audit: who was asked what and how it ended can be read as long as events are kept."""
    row = ask(known)
    flow.cancel(row)
    Elicitation.objects.update(finished_at=clock.now() - timedelta(days=89))
    moving_clock.forward(days=2)
    purging.purge()
    assert not Elicitation.objects.exists()
    told = [event.body() for event in feed.after(known.row.pk, 0, 10)]
    assert [one["type"] for one in told] == ["elicitation.created", "elicitation.cancelled"]
    assert told[1]["data"]["status"] == "cancelled"


def test_t119_a_reader_behind_the_purge_goes_on_with_what_is_kept(known: Known, moving_clock: MovingClock) -> None:
    flow.cancel(ask(known))
    Delivery.objects.update(status="delivered")
    moving_clock.forward(days=91)
    purging.purge()
    ask(known)
    kept = feed.after(known.row.pk, 0, 10)
    assert [event.position for event in kept] == [3], "positions go on counting"
    assert feed.after(known.row.pk, 2, 10) == kept


def test_t119_sessions_that_are_over_go(committed: None) -> None:
    for hours in (-1, 1):
        store = SessionStore()
        store.create()
        Session.objects.filter(pk=store.session_key).update(expire_date=timezone.now() + timedelta(hours=hours))
    assert purging.purge()["sessions"] == 1
    assert Session.objects.count() == 1


def test_t119_both_workers_purge(known: Known, moving_clock: MovingClock, request: pytest.FixtureRequest) -> None:
    embedded = worker.Embedded()
    request.addfinalizer(embedded._rounds.close)
    for run in (tasks.purge, embedded._tick):
        flow.cancel(ask(known))
        Delivery.objects.update(status="delivered")
        moving_clock.forward(days=91)
        run()
        assert not Elicitation.objects.exists()
        assert not Event.objects.exists()
