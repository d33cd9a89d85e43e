"""T91, T96, T98: how the worker handles each answer of a webhook receiver."""

from __future__ import annotations

from datetime import datetime, timedelta

import httpx2
import pytest

from elicit_flows.events import webhooks
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Delivery, Event
from tests.events.posting import Hooked, deliver
from tests.support.moving import MovingClock
from tests.support.serving import Served

# Seconds before each try.
WAITS = (0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
WHOLE = timedelta(hours=75, minutes=35, seconds=5)


def waits_for(delivery: Delivery) -> float:
    """Seconds until it is tried again."""
    return (delivery.next_at - clock.now()).total_seconds()


@pytest.mark.parametrize("status", [301, 302, 303, 304, 305, 306, 307, 308])
def test_t91_a_redirect_is_a_failed_try_and_its_target_hears_nothing(hooked: Hooked, status: int) -> None:
    hooked.receiver.redirect(hooked.path, hooked.receiver.url("/inside"), status=status)
    event = hooked.tell()
    deliver()
    sent = hooked.on_its_way(event)
    assert (sent.status, sent.tries, sent.log[0]["status"]) == ("pending", 1, status)
    assert [one.path for one in hooked.receiver.received()] == [hooked.path]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_t96_every_2xx_is_delivered(hooked: Hooked, status: int) -> None:
    hooked.receiver.status(hooked.path, status)
    sent = hooked.on_its_way(hooked.tell())
    deliver()
    sent.refresh_from_db()
    assert (sent.status, sent.tries, hooked.row.webhook_failures) == ("delivered", 1, 0)
    assert sent.delivered_at


@pytest.mark.parametrize("status", [300, 400, 401, 404, 408, 413, 429, 500, 502, 503, 504, 599])
def test_t96_everything_else_is_tried_again_by_the_schedule(hooked: Hooked, status: int) -> None:
    hooked.receiver.status(hooked.path, status)
    sent = hooked.on_its_way(hooked.tell())
    deliver()
    sent.refresh_from_db()
    assert (sent.status, sent.tries, sent.log[0]["status"]) == ("pending", 1, status)
    assert 0 < waits_for(sent) <= 5
    assert hooked.row.webhook_failures == 1
    assert hooked.row.webhook_disabled_at is None


def test_t96_no_answer_at_all_is_tried_again_too(hooked: Hooked) -> None:
    hooked.receiver.cut(hooked.path)
    sent = hooked.on_its_way(hooked.tell())
    deliver()
    sent.refresh_from_db()
    assert (sent.status, sent.tries, sent.log[0]["status"]) == ("pending", 1, None)
    assert sent.log[0]["note"]


@pytest.mark.parametrize("status", [429, 503])
def test_t96_retry_after_is_waited_for(hooked: Hooked, moving_clock: MovingClock, status: int) -> None:
    hooked.receiver.retry_after(hooked.path, "120", status=status, times=1)
    sent = hooked.on_its_way(hooked.tell())
    deliver()
    moving_clock.forward(seconds=100)
    deliver()
    assert len(hooked.received()) == 1
    moving_clock.forward(seconds=21)
    deliver()
    sent.refresh_from_db()
    assert (sent.status, sent.tries) == ("delivered", 2)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 5), ("1", 5), ("-9", 5), ("soon", 5), ("", 5), ("1e9", 5), ("Fri, 31 Dec 2999 23:59:59 GMT", 5),
        ("86400", 86400), ("86401", 86400), ("9" * 400, 86400),
    ],
)  # fmt: skip
def test_t96_retry_after_neither_shortens_the_schedule_nor_stops_it(hooked: Hooked, value: str, seconds: int) -> None:
    hooked.receiver.retry_after(hooked.path, value)
    sent = hooked.on_its_way(hooked.tell())
    deliver()
    sent.refresh_from_db()
    assert sent.status == "pending"
    assert seconds - 5 < waits_for(sent) <= seconds


@pytest.fixture
def api(served: Served, hooked: Hooked) -> httpx2.Client:
    with hooked.known.client(served.url) as api:
        yield api


def test_t96_an_endpoint_that_says_gone_is_left_alone_and_the_agent_is_told(
    hooked: Hooked, api: httpx2.Client, moving_clock: MovingClock
) -> None:
    hooked.receiver.status(hooked.path, 410)
    first = hooked.tell()
    deliver()
    waiting = hooked.on_its_way(first)
    assert (waiting.status, len(hooked.received())) == ("failed", 1)
    assert hooked.row.webhook_disabled_at
    told = api.get("/v1/events").json()["data"]
    assert [event["type"] for event in told] == ["connection.refreshed", "webhook.disabled"]
    assert told[-1]["data"]["url"] == hooked.receiver.url(hooked.path)
    assert api.get("/v1/agent").json()["webhook_disabled"]
    later = hooked.tell()
    moving_clock.forward(hours=80)
    deliver()
    assert len(hooked.received()) == 1, "nothing is sent to it any more"
    assert not Delivery.objects.filter(event=later).exists()


def test_t96_what_was_on_its_way_when_the_url_was_removed_ends_and_the_next_url_begins_anew(hooked: Hooked) -> None:
    told = hooked.tell()
    url = hooked.row.webhook_url
    Agent.objects.filter(pk=hooked.known.row.pk).update(webhook_url="")
    deliver()
    ended = hooked.on_its_way(told)
    assert (ended.status, ended.tries, ended.log[0]["status"]) == ("failed", 1, None)
    assert ended.log[0]["note"] == "The agent no longer has a webhook URL."
    assert (hooked.row.webhook_failures, hooked.received()) == (0, [])
    Agent.objects.filter(pk=hooked.known.row.pk).update(webhook_url=url)
    hooked.tell()
    deliver()
    assert len(hooked.received()) == 1


@pytest.mark.parametrize("status", [410, 500])
def test_t96_what_the_former_url_answers_is_not_held_against_the_next(hooked: Hooked, status: int) -> None:
    told = hooked.tell()
    [sent] = webhooks.claim(10, {}, 10, failing=True)
    Agent.objects.filter(pk=hooked.known.row.pk).update(webhook_url=hooked.receiver.url("/next"))
    assert webhooks.record(sent, webhooks.Outcome(False, status, "", 5))
    assert (hooked.row.webhook_failures, hooked.row.webhook_disabled_at) == (0, None)
    assert (hooked.on_its_way(told).status, waits_for(hooked.on_its_way(told)) > 0) == ("pending", True)


def test_t96_what_else_was_on_its_way_to_it_is_failed_too(hooked: Hooked, moving_clock: MovingClock) -> None:
    hooked.receiver.status(hooked.path, 500, times=1)
    slow = hooked.tell()
    deliver()
    hooked.receiver.status(hooked.path, 410)
    hooked.tell()
    deliver()
    assert hooked.on_its_way(slow).status == "failed"
    assert Event.objects.filter(type="webhook.disabled").count() == 1


def test_t96_replay_takes_the_endpoint_back(hooked: Hooked, api: httpx2.Client) -> None:
    hooked.receiver.status(hooked.path, 410, times=1)
    event = hooked.tell()
    deliver()
    [failed] = api.get("/v1/webhooks/deliveries", params={"status": "failed"}).json()["data"]
    again = api.post(f"/v1/webhooks/deliveries/{failed['id']}/replay")
    assert (again.status_code, again.json()["status"], again.json()["tries"]) == (200, "pending", 0)
    deliver()
    further = hooked.tell()
    deliver()
    assert [one.id for one in hooked.received()] == [event.id, event.id, further.id]
    assert hooked.on_its_way(event).status == "delivered"
    assert hooked.row.webhook_disabled_at is None


def test_t98_the_schedule_lasts_more_than_three_days_and_no_try_comes_early(
    hooked: Hooked, everybodys_clock: MovingClock
) -> None:
    hooked.receiver.status(hooked.path, 503)
    hooked.tell()
    deliver()
    for number, wait in enumerate(WAITS[1:], start=1):
        everybodys_clock.forward(seconds=wait - 4)
        deliver()
        assert len(hooked.received()) == number
        everybodys_clock.forward(seconds=4)
        deliver()
        assert len(hooked.received()) == number + 1
        hooked.received()[-1].verify(hooked.secret)
    times = [int(one.headers["webhook-timestamp"]) for one in hooked.received()]
    lasted = timedelta(seconds=times[-1] - times[0])
    assert WHOLE <= lasted < WHOLE + timedelta(seconds=60)
    assert sum(webhooks.SCHEDULE.pauses, timedelta()) == timedelta(seconds=sum(WAITS)) == WHOLE


def give_up(hooked: Hooked, moving: MovingClock) -> None:
    for wait in WAITS:
        moving.forward(seconds=wait)
        deliver()


def test_t98_what_was_given_up_is_visible_and_replay_delivers_it(
    hooked: Hooked, api: httpx2.Client, everybodys_clock: MovingClock
) -> None:
    hooked.receiver.status(hooked.path, 503)
    event = hooked.tell()
    give_up(hooked, everybodys_clock)
    everybodys_clock.forward(hours=80)
    deliver()
    assert len(hooked.received()) == len(WAITS)
    [failed] = api.get("/v1/webhooks/deliveries", params={"status": "failed"}).json()["data"]
    assert (failed["event"], failed["tries"], failed["next_at"]) == (event.id, len(WAITS), None)
    assert [one["status"] for one in failed["log"]] == [503] * len(WAITS)
    moments = [datetime.fromisoformat(one["at"]) for one in failed["log"]]
    assert moments == sorted(moments)
    assert api.get("/v1/events").json()["data"][-1]["id"] == event.id, "the feed has it all the same"
    hooked.receiver.ok(hooked.path)
    assert api.post(f"/v1/webhooks/deliveries/{failed['id']}/replay").status_code == 200
    deliver()
    last = hooked.received()[-1]
    assert (last.id, last.verify(hooked.secret)) == (event.id, event.body())
    [delivered] = api.get("/v1/webhooks/deliveries", params={"status": "delivered"}).json()["data"]
    assert (delivered["id"], delivered["tries"]) == (failed["id"], 1)
    assert api.get("/v1/webhooks/deliveries", params={"status": "failed"}).json()["data"] == []


def test_t98_a_replayed_delivery_has_the_whole_schedule_again(hooked: Hooked, moving_clock: MovingClock) -> None:
    hooked.receiver.status(hooked.path, 503)
    sent = hooked.on_its_way(hooked.tell())
    give_up(hooked, moving_clock)
    webhooks.replay(sent)
    give_up(hooked, moving_clock)
    assert len(hooked.received()) == 2 * len(WAITS)
