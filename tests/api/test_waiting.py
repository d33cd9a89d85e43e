"""Long-polls: GET /v1/elicitations/{id}?wait= and GET /v1/events?wait=."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from django.conf import LazySettings
from django.db import connections, transaction

from elicit_flows import elicitations
from elicit_flows.api.reads import ElicitationState
from elicit_flows.api.streaming import broker as hub_module
from elicit_flows.api.streaming import longpoll
from elicit_flows.api.streaming.subscriptions import Watch
from elicit_flows.domain.status import Status
from elicit_flows.elicitations.transitions import move
from elicit_flows.events import feed, wakeups
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Event, Payment
from elicit_flows.payments import checkouts
from tests.support import money
from tests.support.machine import within
from tests.support.process import until
from tests.support.rows import Known, question
from tests.support.serving import Served

QUICK = 0.5  # seconds: well below a poll, so a wake-up came


@pytest.fixture
def asked(api: httpx2.Client) -> dict[str, Any]:
    return dict(api.post("/v1/elicitations", json=question()).json())


@pytest.fixture
def in_background(served: Served) -> Any:
    """``in_background(call)``: starts ``call`` and returns once one more request sleeps until it is told.

    A request that is only counted as waiting may still read what the test changes next.
    """
    with ThreadPoolExecutor(16) as pool:

        def start(call: Callable[[], httpx2.Response]) -> Future[httpx2.Response]:
            before = served.asleep
            future = pool.submit(call)
            until(lambda: served.asleep > before or future.done(), "the request waits", timeout=10)
            return future

        yield start


def go_on(row: Elicitation, *statuses: Status) -> None:
    with transaction.atomic():
        for status in statuses:
            assert move(row, status)


def timed(call: Callable[[], httpx2.Response]) -> tuple[float, dict[str, Any]]:
    began = time.monotonic()
    answer = call()
    assert answer.status_code == 200, answer.text
    return time.monotonic() - began, answer.json()


def test_a_wait_ends_as_soon_as_something_changes(
    api: httpx2.Client, asked: dict[str, Any], in_background: Any
) -> None:
    future = in_background(lambda: api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 20}))
    began = time.monotonic()
    go_on(Elicitation.objects.get(), Status.STARTED)
    answer = future.result(10).json()
    assert time.monotonic() - began < within(QUICK)
    assert (answer["status"], answer["seq"]) == ("started", 2)


def test_a_wait_that_nothing_ends_answers_unchanged_when_its_time_is_up(
    api: httpx2.Client, asked: dict[str, Any]
) -> None:
    took, answer = timed(lambda: api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 1}))
    assert 1.0 <= took < within(1.5)
    assert answer == asked


def test_an_answer_says_its_length(api: httpx2.Client, asked: dict[str, Any]) -> None:
    """A chunked answer would cost more to read, and a simple client could not see where it ends."""
    for address in (f"/v1/elicitations/{asked['id']}?wait=0", "/v1/events?wait=0", "/v1/events?wait=-1"):
        answer = api.get(address)
        assert answer.headers.get_list("content-length") == [str(len(answer.content))]
        assert "transfer-encoding" not in answer.headers


def test_after_seq_asks_for_what_was_missed(api: httpx2.Client, asked: dict[str, Any]) -> None:
    go_on(Elicitation.objects.get(), Status.STARTED)
    for seq in (0, 1):
        path = f"/v1/elicitations/{asked['id']}"
        took, answer = timed(lambda seq=seq, path=path: api.get(path, params={"wait": 20, "after_seq": seq}))  # type: ignore[misc]
        assert took < within(QUICK)
        assert answer["seq"] == 2
    took, answer = timed(lambda: api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 1, "after_seq": 2}))
    assert (took >= 1.0, answer["seq"]) == (True, 2)


def test_what_is_over_is_answered_at_once(api: httpx2.Client, asked: dict[str, Any]) -> None:
    api.post(f"/v1/elicitations/{asked['id']}/cancel")
    for after in ({}, {"after_seq": 2}, {"after_seq": 99}):
        path = f"/v1/elicitations/{asked['id']}"
        took, answer = timed(lambda after=after, path=path: api.get(path, params={"wait": 20, **after}))  # type: ignore[misc]
        assert took < within(QUICK)
        assert answer["status"] == "cancelled"


def test_a_wait_with_a_later_after_seq_sleeps_through_what_came_before(
    api: httpx2.Client, asked: dict[str, Any], in_background: Any
) -> None:
    path = f"/v1/elicitations/{asked['id']}"
    future = in_background(lambda: api.get(path, params={"wait": 20, "after_seq": 2}))
    row = Elicitation.objects.get()
    go_on(row, Status.STARTED)
    with pytest.raises(TimeoutError):
        future.result(0.3)
    go_on(row, Status.SETTLING)
    assert future.result(10).json()["seq"] == 3


def test_several_events_at_once_wake_with_the_newest(
    api: httpx2.Client, asked: dict[str, Any], in_background: Any
) -> None:
    """The reader may read all three events at once. Who waits for events after the first must get the last."""
    path = f"/v1/elicitations/{asked['id']}"
    future = in_background(lambda: api.get(path, params={"wait": 5, "after_seq": 3}))
    began = time.monotonic()
    go_on(Elicitation.objects.get(), Status.STARTED, Status.SETTLING, Status.FAILED)
    answer = future.result(10).json()
    assert (answer["status"], answer["seq"]) == ("failed", 4)
    assert time.monotonic() - began < within(QUICK)


def test_a_waiter_never_goes_back_to_what_is_older_than_what_it_read() -> None:
    """A watch may be older than the row. Late events are then old ones, and are ignored."""
    row = Elicitation(id="el_1", agent_id=1, seq=3, status="settling", kind="oauth")
    row.expires_at = clock.now() + timedelta(minutes=5)
    late = Event(
        id="ev_2", position=2, type="elicitation.started", elicitation_id="el_1", data={"seq": 2, "status": "started"}
    )

    class OneRead:
        async def load(self, named: tuple[int, str]) -> ElicitationState:
            return ElicitationState.of(row)

    class OneHub:
        reads = SimpleNamespace(elicitations=OneRead())

    async def wait() -> dict[str, Any]:
        watch = Watch(1)
        asyncio.get_running_loop().call_later(0.1, watch.dispatch, [late])
        found: dict[str, Any] = json.loads(await longpoll._wait(OneHub(), watch, 1, "el_1", 1, None))  # type: ignore[arg-type]
        return found

    assert asyncio.run(wait())["seq"] == 3


def test_the_end_of_its_time_ends_a_wait(api: httpx2.Client) -> None:
    asked = api.post("/v1/elicitations", json=question(expires_in=1)).json()
    took, answer = timed(lambda: api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 20}))
    assert took < within(2.0)
    assert (answer["status"], answer["action"], answer["seq"]) == ("expired", "cancel", 2)
    assert [event["type"] for event in api.get("/v1/events").json()["data"]][-1] == "elicitation.expired"


def test_f8_what_is_overdue_is_said_to_be_expired_though_nobody_sweeps(
    api: httpx2.Client, asked: dict[str, Any]
) -> None:
    plain, overdue = [api.post("/v1/elicitations", json=question()).json()["id"] for _ in range(2)]
    Elicitation.objects.update(expires_at=clock.now() - timedelta(hours=1))
    assert api.get("/v1/elicitations", params={"status": "pending"}).json()["data"] == []
    assert api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 5}).json()["status"] == "expired"
    assert api.get(f"/v1/elicitations/{plain}").json()["status"] == "expired"
    assert [one["status"] for one in api.get("/v1/elicitations").json()["data"]] == ["expired"] * 3
    assert api.post(f"/v1/elicitations/{overdue}/cancel").status_code == 409
    assert {event["type"] for event in api.get("/v1/events").json()["data"]} == {
        "elicitation.created", "elicitation.expired",
    }  # fmt: skip


def test_a_payment_page_that_outlives_the_link_is_not_looked_at_again_and_again(
    api: httpx2.Client, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not expire before the provider has closed the page, so nothing changes meanwhile."""
    account = money.account()
    known.row.payment_accounts.add(account)
    price = {"amount": 500, "currency": "eur", "description": "A report"}
    asked = api.post("/v1/elicitations", json=question(kind="payment", params=price)).json()
    row = Elicitation.objects.get()
    checkouts.reserve(Payment.objects.get(), row.expires_at)
    go_on(row, Status.STARTED)
    Elicitation.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    reads: list[str] = []
    read = longpoll._expired
    monkeypatch.setattr(longpoll, "_expired", lambda *named: (reads.append(named[1]), read(*named))[1])
    took, answer = timed(lambda: api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 2}))
    assert (took >= 2.0, answer["status"], answer["seq"]) == (True, "started", 2)
    assert 1 <= len(reads) <= 4
    found = api.get("/v1/elicitations", params={"status": "started"}).json()["data"]
    assert [one["id"] for one in found] == [asked["id"]]


def test_a_longer_wait_than_allowed_is_the_longest_allowed(
    api: httpx2.Client, asked: dict[str, Any], settings: LazySettings
) -> None:
    settings.ELICIT_MAX_WAIT = 1
    took, _ = timed(lambda: api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 3600}))
    assert 1.0 <= took < within(1.5)


def test_events_with_wait_come_as_soon_as_there_is_one(
    api: httpx2.Client, asked: dict[str, Any], in_background: Any
) -> None:
    page = api.get("/v1/events").json()
    future = in_background(lambda: api.get("/v1/events", params={"wait": 20, "after": page["cursor"]}))
    began = time.monotonic()
    elicitations.cancel(Elicitation.objects.get())
    answer = future.result(10).json()
    assert time.monotonic() - began < within(QUICK)
    assert [(one["type"], one["seq"]) for one in answer["data"]] == [("elicitation.cancelled", 2)]
    assert api.get("/v1/events", params={"after": answer["cursor"]}).json()["data"] == []
    took, late = timed(lambda: api.get("/v1/events", params={"wait": 1, "after": answer["cursor"]}))
    assert (took >= 1.0, late) == (True, {"data": [], "cursor": answer["cursor"]})
    took, early = timed(lambda: api.get("/v1/events", params={"wait": 20, "limit": 1}))
    assert (took < within(QUICK), [one["type"] for one in early["data"]]) == (True, ["elicitation.created"])


def test_an_event_that_no_wake_up_announced_is_found_within_a_poll(
    api: httpx2.Client, asked: dict[str, Any], in_background: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F10: a wake-up is only a hint. The database has the truth."""
    monkeypatch.setattr(wakeups, "wake", lambda *_: None)
    future = in_background(lambda: api.get(f"/v1/elicitations/{asked['id']}", params={"wait": 20}))
    began = time.monotonic()
    go_on(Elicitation.objects.get(), Status.STARTED)
    assert future.result(within(10)).json()["seq"] == 2
    assert time.monotonic() - began < hub_module.POLL + within(QUICK)


def test_many_waiters_of_one_elicitation_all_hear_of_it(
    api: httpx2.Client, known: Known, served: Served, asked: dict[str, Any]
) -> None:
    async def wait_for_it() -> list[int]:
        headers = {"authorization": f"Bearer {known.who.api_key}"}
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=served.url, headers=headers, trust_env=False, limits=limits) as many:
            calls = [
                asyncio.create_task(many.get(f"/v1/elicitations/{asked['id']}", params={"wait": 20}, timeout=30))
                for _ in range(100)
            ]
            while served.asleep < 100:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(_cancel_elsewhere)
            return [(await call).json()["seq"] for call in calls]

    began = time.monotonic()
    assert asyncio.run(wait_for_it()) == [2] * 100
    assert time.monotonic() - began < within(10)
    until(lambda: served.waiting == 0, "nobody waits any more")


def _cancel_elsewhere() -> None:
    elicitations.cancel(Elicitation.objects.get())
    connections.close_all()


def wait_until_nothing_is_watched(served: Served) -> None:
    hub = served.service._waiting.hub
    assert hub is not None
    until(lambda: not hub._watches and not hub._by_key, "the feeds are no longer watched", timeout=5)
    assert not hub.attended.is_set(), "nor bells heard"


def test_a_waiter_that_hangs_up_is_forgotten(served: Served, known: Known, asked: dict[str, Any]) -> None:
    with pytest.raises(httpx2.ReadTimeout), known.client(served.url) as impatient:
        impatient.get(f"/v1/elicitations/{asked['id']}", params={"wait": 20}, timeout=0.3)
    until(lambda: served.waiting == 0, "the server noticed", timeout=5)
    wait_until_nothing_is_watched(served)


def test_waits_for_nothing_leave_nothing_behind(api: httpx2.Client, served: Served) -> None:
    for number in range(20):
        assert api.get(f"/v1/elicitations/el_{number}", params={"wait": 20}).status_code == 404
    wait_until_nothing_is_watched(served)


def test_two_agents_waits_do_not_wake_each_other(
    api: httpx2.Client, stranger: httpx2.Client, asked: dict[str, Any], in_background: Any
) -> None:
    theirs = stranger.post("/v1/elicitations", json=question()).json()["id"]
    future = in_background(
        lambda: api.get("/v1/events", params={"wait": 1, "after": api.get("/v1/events").json()["cursor"]})
    )
    stranger.post(f"/v1/elicitations/{theirs}/cancel")
    assert future.result(10).json()["data"] == []
    assert asked["seq"] == 1


def test_several_kinds_of_waits_share_one_reader_of_the_feed(
    api: httpx2.Client, asked: dict[str, Any], in_background: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    def counted(*given: int) -> list[Event]:
        reads.append(1)
        return after(*given)

    after = feed.after
    monkeypatch.setattr(feed, "after", counted)
    path = f"/v1/elicitations/{asked['id']}"
    waits = [in_background(lambda: api.get(path, params={"wait": 20})) for _ in range(10)]
    go_on(Elicitation.objects.get(), Status.STARTED)
    assert {future.result(10).json()["seq"] for future in waits} == {2}
    assert len(reads) <= 2
