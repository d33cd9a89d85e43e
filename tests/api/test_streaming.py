"""GET /v1/events as a stream of server-sent events (WHATWG HTML, section 9.2), F20's reader side."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import pytest
from django.db import DatabaseError

from elicit_flows import elicitations
from elicit_flows.api.streaming import events
from elicit_flows.api.streaming.subscriptions import Waiter
from elicit_flows.models import Agent, Elicitation
from tests.support.process import until
from tests.support.rows import Known, question
from tests.support.serving import Served

STREAM = {"accept": "text/event-stream"}


class Stream:
    """One open stream: ``next()`` is the next event as a dict of its fields, a comment as {"": text}."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def next(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self._lines:
            if not line:
                return found
            name, _, value = line.partition(":")
            assert name not in found, "one line a field"
            found[name] = value.removeprefix(" ")
        raise EOFError

    def until_it_ends(self) -> None:
        with suppress(EOFError):
            while True:
                self.next()

    def events(self, count: int) -> list[dict[str, Any]]:
        return [json.loads(self.next()["data"]) for _ in range(count)]


@contextmanager
def streaming(api: httpx2.Client, last_id: str = "", **query: str) -> Iterator[Stream]:
    headers = STREAM | ({"last-event-id": last_id} if last_id else {})
    with api.stream("GET", "/v1/events", headers=headers, params=query, timeout=10) as response:
        assert response.status_code == 200, response.read()
        yield Stream(response)


@pytest.fixture
def asked(api: httpx2.Client) -> list[str]:
    return [api.post("/v1/elicitations", json=question()).json()["id"] for _ in range(3)]


def test_a_stream_begins_with_the_oldest_and_goes_on_with_what_happens(api: httpx2.Client, asked: list[str]) -> None:
    listed = api.get("/v1/events").json()["data"]
    with streaming(api) as stream:
        assert stream.response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.response.headers["cache-control"] == "no-store"
        assert stream.events(3) == listed
        elicitations.cancel(Elicitation.objects.get(pk=asked[0]))
        said = stream.next()
    assert said.keys() == {"id", "event", "data"}
    assert said["event"] == "elicitation.cancelled"
    assert json.loads(said["data"])["data"]["id"] == asked[0]
    assert said["id"] == api.get("/v1/events").json()["cursor"]


def test_latest_begins_behind_what_has_happened(api: httpx2.Client, asked: list[str]) -> None:
    assert api.get("/v1/events", params={"after": "latest"}).json() == {
        "data": [], "cursor": api.get("/v1/events").json()["cursor"],
    }  # fmt: skip
    with streaming(api, after="latest") as stream:
        elicitations.cancel(Elicitation.objects.get(pk=asked[0]))
        assert stream.events(1)[0]["type"] == "elicitation.cancelled"


def test_last_event_id_goes_on_behind_it(api: httpx2.Client, asked: list[str]) -> None:
    with streaming(api) as stream:
        first = stream.next()
    for options in ({"last_id": first["id"]}, {"after": first["id"]}):
        with streaming(api, **options) as stream:
            assert [one["elicitation"] for one in stream.events(2)] == asked[1:]
    newer = api.get("/v1/events", params={"limit": 2}).json()["cursor"]
    with streaming(api, last_id=newer, after=first["id"]) as stream:
        assert stream.events(1)[0]["elicitation"] == asked[2], "what the browser sends counts"


def test_a_comment_keeps_a_silent_stream_open(
    api: httpx2.Client, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert events.HEARTBEAT == 15.0
    monkeypatch.setattr(events, "HEARTBEAT", 0.2)
    with streaming(api) as stream:
        stream.events(3)
        assert [stream.next(), stream.next()] == [{"": "still here"}] * 2
        elicitations.cancel(Elicitation.objects.get(pk=asked[0]))
        assert "elicitation.cancelled" in {stream.next().get("event"), stream.next().get("event")}


def test_t64_a_stream_ends_when_its_key_is_taken_back(
    api: httpx2.Client, known: Known, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT", 0.3)
    with streaming(api) as stream:
        stream.events(3)
        Agent.objects.filter(pk=known.row.pk).update(enabled=False)
        stream.until_it_ends()


@pytest.mark.slow
def test_no_event_is_skipped_or_repeated_however_often_the_reader_comes_back(
    api: httpx2.Client, served: Served, known: Known
) -> None:
    """F20: the reader drops its connection after every few events, while others write."""

    def write() -> None:
        with known.client(served.url) as own:
            for _ in range(60):
                own.post("/v1/elicitations", json=question())

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    seen: list[str] = []
    last = ""
    while len(seen) < 180:
        with streaming(api, last_id=last) as stream:
            for _ in range(min(25, 180 - len(seen))):
                said = stream.next()
                last = said["id"]
                seen.append(json.loads(said["data"])["id"])
    for writer in writers:
        writer.join()
    truth, cursor = [], ""
    while page := api.get("/v1/events", params={"limit": 100, "after": cursor}).json():
        cursor = page["cursor"]
        truth += [event["id"] for event in page["data"]]
        if not page["data"]:
            break
    assert seen == truth


def test_a_reader_that_comes_late_gets_what_memory_no_longer_holds(
    api: httpx2.Client, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicit_flows.api.streaming.subscriptions.RECENT", 2)
    with streaming(api) as first:
        first.events(3)
        for one in asked:
            elicitations.cancel(Elicitation.objects.get(pk=one))
        first.events(3)
        with streaming(api) as second:
            assert [one["seq"] for one in second.events(6)] == [1, 1, 1, 2, 2, 2]


def gone(*args: object) -> None:
    raise DatabaseError("the database is gone")


def test_a_stream_outlives_a_database_that_goes_away(
    api: httpx2.Client, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT", 0.2)
    with streaming(api) as stream:
        stream.events(3)
        with monkeypatch.context() as away:
            away.setattr("elicit_flows.events.feed.after", gone)
            away.setattr("elicit_flows.events.feed.heads", gone)
            elicitations.cancel(Elicitation.objects.get(pk=asked[0]))
            assert stream.next() == stream.next() == {"": "still here"}
        while "event" not in (said := stream.next()):
            continue
    assert said["event"] == "elicitation.cancelled"


def test_a_stream_that_cannot_be_read_ends_in_good_order(
    api: httpx2.Client, served: Served, asked: list[str], monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setattr("elicit_flows.events.feed.after", gone)
    with streaming(api) as stream:
        stream.until_it_ends()
    until(lambda: served.waiting == 0, "the stream is forgotten")
    assert "Exception in ASGI" not in caplog.text
    assert "Traceback" not in caplog.text


def test_what_waits_answers_503_while_the_database_is_away(
    api: httpx2.Client, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicit_flows.lib.compiled_query.prepared_cursor", gone)
    answer = api.get(f"/v1/elicitations/{asked[0]}", params={"wait": 5})
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize("turns", range(4))
def test_a_client_that_leaves_as_an_event_comes_is_not_waited_for(turns: int) -> None:
    """A client may leave at any step of the event loop. Otherwise its stream would run on forever."""

    async def leave() -> bool:
        waiter = Waiter()
        stream = asyncio.create_task(waiter.told(5))
        await asyncio.sleep(0.01)
        waiter.tell(None)
        for _ in range(turns):
            await asyncio.sleep(0)
        over = stream.done()
        stream.cancel()
        await asyncio.wait({stream})
        return over or stream.cancelled()

    assert asyncio.run(leave())


def test_what_waits_has_a_number_of_its_own_in_the_answer_as_every_other_request_has(
    api: httpx2.Client, asked: list[str]
) -> None:
    answers = [api.get(f"/v1/elicitations/{asked[0]}"), api.get(f"/v1/elicitations/{asked[0]}?wait=0")]
    answers += [
        api.get("/v1/events?wait=0"),
        api.get("/v1/events?wait=0&nope=1"),
        api.get("/v1/elicitations/none?wait=1"),
    ]
    with streaming(api) as stream:
        answers.append(stream.response)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 422, 404, 200]
    numbers = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(numbers)) == len(answers)
    assert {len(number) for number in numbers} == {16}
