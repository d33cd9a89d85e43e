"""When people are told and when not: once, only while it waits, within limits, and by nobody who hangs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from pytest_django import Settings

from elicit_flows import elicitations, notifications, vault
from elicit_flows.admin import story
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.elicitations import notify
from elicit_flows.jobs import lag, worker
from elicit_flows.lib import clock, counters, mail_server
from elicit_flows.models import Agent, Elicitation, Event, Notification, NotificationSettings, Provider
from elicit_flows.notifications import email
from tests.doubles.raw import Listener, listening
from tests.notifications.telling import ask as ask_of
from tests.notifications.telling import outcomes, signs_in
from tests.support import jobs, rows
from tests.support.mail import MailServer
from tests.support.moving import MovingClock
from tests.support.process import until
from tests.support.rows import ALICE_CLAIM, ISSUER, Known
from tests.support.sink import Sink

Ask = Callable[..., Elicitation]
BOB = Claim(ISSUER, "bob")


def test_nobody_is_told_unless_the_agent_asks_for_it(mail: MailServer, ask: Ask) -> None:
    signs_in()
    row = ask(notify=False)
    jobs.notify()
    assert outcomes(row) == {}
    assert mail.received() == []


def test_an_agent_needs_its_operators_leave(mail: MailServer, known: Known) -> None:
    Agent.objects.filter(pk=known.row.pk).update(notify=False)
    known.row.refresh_from_db()
    with pytest.raises(Invalid) as refused:
        ask_of(known)
    assert refused.value.errors[0]["loc"] == ["notify"]
    assert not Elicitation.objects.exists()


def test_where_nothing_is_offered_it_is_refused(offered: NotificationSettings, known: Known) -> None:
    NotificationSettings.objects.update(email=False)
    notify.forget()
    with pytest.raises(Invalid):
        ask_of(known)


@pytest.mark.parametrize("what", ["answered", "cancelled", "expired", "begun"])
def test_what_no_longer_waits_is_not_told(mail: MailServer, ask: Ask, moving_clock: MovingClock, what: str) -> None:
    signs_in()
    row = ask(kind="confirm", params={})
    if what == "expired":
        moving_clock.forward(hours=1)
    elif what == "cancelled":
        elicitations.cancel(row)
    else:
        # The person is on their way already, or there.
        Elicitation.objects.filter(pk=row.pk).update(
            status=Status.COMPLETED if what == "answered" else Status.STARTED,
            finished_at=clock.now() if what == "answered" else None,
        )
    jobs.notify()
    assert outcomes(row) == {"email": "over"}
    assert mail.received() == []


def test_what_an_earlier_answer_settles_is_not_told(mail: MailServer, ask: Ask, known: Known) -> None:
    signs_in()
    rows.connection(known, Provider.objects.get(slug="drive"))
    row = ask(params={"provider": "drive", "scopes": []})
    assert row.reused
    assert outcomes(row) == {}


def test_the_same_request_again_is_told_once(mail: MailServer, ask: Ask) -> None:
    signs_in()
    first = ask(idempotency_key="k", fingerprint="f")
    assert ask(idempotency_key="k", fingerprint="f").pk == first.pk
    jobs.notify()
    assert len(mail.received()) == 1


def test_several_steps_are_told_once(mail: MailServer, ask: Ask) -> None:
    signs_in()
    steps = [{"kind": "confirm", "params": {}, "message": "Really?"}] * 2
    row = ask(kind="steps", params={"steps": steps})
    jobs.notify()
    assert outcomes(row) == {"email": "sent"}
    assert len(mail.received()) == 1


def test_an_agent_that_was_switched_off_meanwhile_tells_nobody(mail: MailServer, ask: Ask, known: Known) -> None:
    signs_in()
    row = ask()
    Agent.objects.filter(pk=known.row.pk).update(enabled=False)
    jobs.notify()
    assert outcomes(row) == {"email": "off"}
    assert mail.received() == []


def test_a_channel_that_was_switched_off_meanwhile_tells_nobody(mail: MailServer, ask: Ask) -> None:
    signs_in()
    row = ask()
    NotificationSettings.objects.update(email=False)
    jobs.notify()
    assert outcomes(row) == {"email": "off"}
    assert mail.received() == []


def test_t160_the_agent_hears_the_same_whether_or_not_there_is_an_address(mail: MailServer, ask: Ask) -> None:
    signs_in()
    there, not_there = ask(), ask(claim=BOB)
    jobs.notify()
    assert (outcomes(there), outcomes(not_there)) == ({"email": "sent"}, {"email": "no_address"})

    def heard(row: Elicitation) -> list[object]:
        row.refresh_from_db()
        own = {"id", "url", "subject", "created_at", "expires_at"}
        events = Event.objects.filter(elicitation=row).order_by("position")
        said = [row.snapshot(), *(event.data for event in events)]
        return [[event.type for event in events], *({k: v for k, v in one.items() if k not in own} for one in said)]

    assert heard(there) == heard(not_there)
    assert heard(there)[0] == ["elicitation.created"]


def test_t161_one_person_is_told_of_so_many_requests_an_hour(
    mail: MailServer, ask: Ask, offered: NotificationSettings, moving_clock: MovingClock
) -> None:
    others = [rows.agent(f"other-{number}", notify=True) for number in range(3)]
    signs_in()
    for _ in range(4):
        ask()
        for one in others:
            ask(of=one)
    jobs.notify()
    assert len(mail.received()) == offered.per_person
    assert Notification.objects.filter(outcome="limited").count() == 16 - offered.per_person
    moving_clock.forward(minutes=61)
    ask()
    jobs.notify()
    assert len(mail.received()) == offered.per_person + 1


def test_t161_one_agent_alone_gets_half_of_what_a_person_is_told(
    mail: MailServer, ask: Ask, offered: NotificationSettings
) -> None:
    signs_in()
    for _ in range(8):
        ask()
    jobs.notify()
    assert len(mail.received()) == offered.per_person // 2


def test_t161_one_agent_has_so_many_people_told_an_hour(
    mail: MailServer, ask: Ask, offered: NotificationSettings
) -> None:
    NotificationSettings.objects.update(per_agent=3)
    for number in range(5):
        who = Claim(ISSUER, f"person-{number}")
        signs_in(f"person-{number}@example.com", claim=who)
        ask(claim=who)
    jobs.notify()
    assert len(mail.received()) == 3


def test_t161_what_was_not_sent_does_not_count(mail: MailServer, ask: Ask) -> None:
    signs_in("refused@example.com")
    for _ in range(4):
        ask()
    jobs.notify()
    signs_in()
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"email": "sent"}


def test_a_worker_that_died_over_it_does_not_make_it_be_sent_twice(
    mail: MailServer, ask: Ask, moving_clock: MovingClock
) -> None:
    signs_in()
    row = ask(expires_in=3600)
    # It was claimed and marked, and then nobody recorded anything.
    Notification.objects.filter(elicitation=row).update(
        began_at=clock.now(), next_at=clock.now() + timedelta(minutes=2), tries=1
    )
    jobs.notify()
    assert outcomes(row) == {"email": ""}
    moving_clock.forward(minutes=3)
    jobs.notify()
    assert outcomes(row) == {"email": "unknown"}
    assert mail.received() == []


def test_two_workers_send_it_once(mail: MailServer, ask: Ask) -> None:
    signs_in()
    row = ask()
    [first], [second] = notifications.due("email", 5), notifications.due("email", 5)
    assert notifications.tell(first)
    assert not notifications.tell(second)
    assert outcomes(row) == {"email": "sent"}
    assert len(mail.received()) == 1


def test_no_transaction_is_open_while_it_is_sent(mail: MailServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    signs_in()
    ask()
    open_then = []
    usual = email.Connection.open

    def opening(self: email.Connection) -> bool | None:
        open_then.append(connection.in_atomic_block)
        return usual(self)

    monkeypatch.setattr(email.Connection, "open", opening)
    jobs.notify()
    assert set(open_then) == {False}


def test_it_is_given_up_after_two_hours_of_trying(mail: MailServer, ask: Ask, moving_clock: MovingClock) -> None:
    signs_in("later@example.com")
    row = ask(expires_in=7 * 86400)
    for _ in range(20):
        jobs.notify()
        moving_clock.forward(minutes=16)
    told = Notification.objects.get(elicitation=row)
    assert (told.outcome, told.next_at) == ("failed", None)
    assert told.tries == 12


def test_t161_a_mail_server_that_hangs_delays_itself_alone(
    ask: Ask, offered: NotificationSettings, receiver: Sink, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.contacts.seal_signing_secret(offered, Secret("whsec_" + "A" * 43 + "="))
    offered.webhook_url = receiver.url("/tell")
    offered.save()
    notify.forget()
    monkeypatch.setattr(email, "SECONDS", 30.0)
    settings.ELICIT_EMAIL_FROM = "flows@example.test"

    def silent(listener: Listener, connection: socket.socket) -> None:
        listener.over.wait(120)

    with listening(silent) as hanging:
        settings.ELICIT_SMTP = mail_server.MailServer("smtp+plain", "127.0.0.1", hanging.port)
        people = [Claim(ISSUER, f"person-{number}") for number in range(12)]
        for who in people:
            signs_in(f"{who.sub}@example.com", claim=who)
            ask(claim=who)
        job = worker.JobThread("notify", worker.notify)
        job.keep_on()
        try:
            receiver.wait_for("/tell", len(people), timeout=60)
            until(lambda: hanging.connections, "the mail server was asked")
            assert not Notification.objects.filter(channel="email", outcome="sent").exists()
        finally:
            hanging.close()
            job.stop()
            job.join(60)
    assert threading.active_count() < 60


def test_what_is_due_and_was_never_tried_is_late(mail: MailServer, ask: Ask, moving_clock: MovingClock) -> None:
    signs_in("later@example.com")
    row = ask()
    assert lag.oldest()["notification"] is not None
    jobs.notify()
    moving_clock.forward(minutes=5)
    assert lag.oldest()["notification"] is None, "it follows the schedule of its tries"
    assert outcomes(row) == {"email": ""}


def test_alice_is_told_and_not_bob(mail: MailServer, ask: Ask) -> None:
    signs_in()
    signs_in("bob@example.com", claim=BOB)
    ask(claim=ALICE_CLAIM)
    jobs.notify()
    assert [one["X-To"] for one in mail.received()] == ["alice@example.com"]


def test_operators_read_what_became_of_each_message(mail: MailServer, ask: Ask) -> None:
    signs_in()
    told, missed = ask(), ask(claim=BOB)
    jobs.notify()
    for row, outcome in ((told, "Sent"), (missed, "No address")):
        said = [entry.what for entry in story.tell(row, [row], [], [], acts=False)]
        assert f"Message to the person, E-mail: {outcome}" in said


def test_t160_neither_the_log_nor_a_metric_names_the_person(
    mail: MailServer, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    signs_in("refused@example.com")
    row = ask()
    jobs.notify()
    [line] = [one for one in caplog.records if one.getMessage() == "notification"]
    assert line.fields == {  # type: ignore[attr-defined]
        "notification": row.notifications.get().pk,
        "elicitation": row.pk,
        "channel": "email",
        "outcome": "refused",
        "why": "the recipient was refused with 550",
    }
    assert ("notifications", ("email", "refused")) in counters.drain()
