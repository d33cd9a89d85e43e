"""T119: finished rows are kept for a while and then deleted. Open ones stay."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone
from pytest_django import Settings

from elicit_flows import elicitations, vault
from elicit_flows.domain.values import Claim, Question
from elicit_flows.events import feed
from elicit_flows.jobs import purge as purging
from elicit_flows.jobs import worker
from elicit_flows.lib import clock
from elicit_flows.management.progress import Stopped
from elicit_flows.models import Attempt, Connection, Delivery, Elicitation, Event, PendingGrant, Provider
from elicit_flows.web.session_store import SessionStore, stored_key
from tests.support import rows
from tests.support.moving import MovingClock
from tests.support.process import until
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
    return elicitations.create(known.row, question)[0]


def left_over(row: Elicitation) -> Attempt:
    now = clock.now()
    return Attempt.objects.create(
        elicitation=row, state_hash=row.pk, browser_hash="x", stash="", created_at=now,
        expires_at=now + timedelta(minutes=10),
    )  # fmt: skip


def test_t119_what_is_over_goes_after_its_days_and_not_before(known: Known, moving_clock: MovingClock) -> None:
    row = ask(known)
    left_over(row)
    elicitations.cancel(row)
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


def test_a_grant_that_a_provider_has_yet_to_revoke_is_not_forgotten_with_its_elicitation(
    known: Known, drive: Provider, moving_clock: MovingClock, settings: Settings
) -> None:
    """While the provider does not answer, it is told again and again for days."""
    settings.ELICIT_KEEP_ELICITATIONS = settings.ELICIT_KEEP_CONNECTIONS = 1
    row, now = ask(known), clock.now()
    elicitations.cancel(row)
    meant = rows.connection(known, drive)
    Connection.objects.update(status="revoked", revoked_at=now, upstream="")
    times = dict.fromkeys(("created_at", "expires_at", "give_back_at"), now)
    held = PendingGrant.objects.create(elicitation=row, connection=meant, grant="x", **times)
    moving_clock.forward(days=2)
    kept = purging.purge()
    assert (kept["elicitations"], kept["connections"]) == (0, 0)
    held.delete()
    gone = purging.purge()
    assert (gone["elicitations"], gone["connections"]) == (1, 1)


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
    elicitations.cancel(row)
    Elicitation.objects.update(finished_at=clock.now() - timedelta(days=89))
    moving_clock.forward(days=2)
    purging.purge()
    assert not Elicitation.objects.exists()
    told = [event.body() for event in feed.after(known.row.pk, 0, 10)]
    assert [one["type"] for one in told] == ["elicitation.created", "elicitation.cancelled"]
    assert told[1]["data"]["status"] == "cancelled"


def test_t119_a_reader_behind_the_purge_goes_on_with_what_is_kept(known: Known, moving_clock: MovingClock) -> None:
    elicitations.cancel(ask(known))
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
        Session.objects.filter(pk=stored_key(store.session_key)).update(
            expire_date=timezone.now() + timedelta(hours=hours)
        )
    assert purging.purge()["sessions"] == 1
    assert Session.objects.count() == 1


def test_t119_what_an_agent_did_is_kept_as_long_as_the_operator_says(
    known: Known, drive: Provider, moving_clock: MovingClock, settings: Settings
) -> None:
    settings.ELICIT_KEEP_USES = settings.ELICIT_KEEP_CONNECTIONS = 10
    lasting = rows.grant(expires_in=30 * 86400)
    held, ended = (rows.connection(known, at, lasting) for at in (drive, rows.provider(slug="mail")))
    vault.revoke(ended)
    waiting = rows.connection(known, rows.provider(slug="slow"))
    vault.revoke(waiting)
    moving_clock.forward(days=9)
    vault.token(known.row, held.pk)
    assert purging.purge()["uses"] == 0
    Connection.objects.filter(pk=ended.pk).update(upstream="done")
    moving_clock.forward(days=1, minutes=1)
    gone = purging.purge()
    assert (gone["uses"], gone["connections"]) == (5, 1), "the fetch of yesterday is kept"
    assert set(Connection.objects.all()) == {held, waiting}, "that provider has yet to be told"


def over(known: Known, count: int, moving_clock: MovingClock) -> None:
    for _ in range(count):
        elicitations.cancel(ask(known))
    Delivery.objects.update(status="delivered")
    moving_clock.forward(days=91)


def test_by_hand_the_purge_says_first_what_would_go_then_what_went(known: Known, moving_clock: MovingClock) -> None:
    over(known, 3, moving_clock)
    said = {}
    for flags in (["--dry-run"], [], []):
        call_command("purge", *flags, stdout=(out := io.StringIO()))
        said[len(said)] = {line.strip() for line in out.getvalue().splitlines()}
    assert {"elicitations: 3 would be deleted", "events: 6 would be deleted", "uses: 0 would be deleted"} <= said[0]
    assert {"elicitations: 3 deleted", "events: 6 deleted", "deliveries: 6 deleted"} <= said[1]
    assert {"elicitations: 0 deleted", "events: 0 deleted"} <= said[2]


def test_by_hand_the_purge_may_be_stopped_and_taken_up_again(
    known: Known, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    over(known, 3, moving_clock)
    monkeypatch.setattr(purging, "BATCH", 2)
    finish = purging.batches

    def told_to_stop() -> Iterator[tuple[str, int]]:
        for done in finish():
            os.kill(os.getpid(), signal.SIGTERM)
            yield done

    monkeypatch.setattr(purging, "batches", told_to_stop)
    with pytest.raises(Stopped, match=r"Stopped; done so far: 2 deliveries\. `python manage\.py purge` continues"):
        call_command("purge", stdout=io.StringIO())
    assert (Delivery.objects.count(), Event.objects.count(), Elicitation.objects.count()) == (4, 6, 3)
    monkeypatch.setattr(purging, "batches", finish)
    call_command("purge", stdout=io.StringIO())
    assert not Elicitation.objects.exists()
    assert not Event.objects.exists()


def test_t119_the_worker_purges(known: Known, moving_clock: MovingClock) -> None:
    """The job is the same in the server and in a Celery worker."""
    elicitations.cancel(ask(known))
    Delivery.objects.update(status="delivered")
    moving_clock.forward(days=91)
    job = worker.threads(["purge"])["purge"]
    job.wake()
    until(lambda: not Elicitation.objects.exists() and not Event.objects.exists(), "it purges")
    worker.stop([job])


def test_a_long_purge_is_left_now_and_then(
    known: Known, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a worker can stop in the middle."""
    over(known, 3, moving_clock)
    monkeypatch.setattr(purging, "BATCH", 2)
    rounds = 1
    while not purging.purge_for(0.0):
        rounds += 1
    assert rounds > 3
    assert not Delivery.objects.exclude(status="pending").exists()
