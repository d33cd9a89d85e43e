"""The feed: as a stream and by long-polling, resumed without loss or repetition."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from elicit_flows.sdk import Elicit, ElicitError, Event, UnexpectedAnswerError
from tests.sdk.fake import DROP, FakeService, Reply, problem, stream

pytestmark = pytest.mark.anyio
FEED = ("GET", "/v1/events")


def body(number: int) -> dict[str, Any]:
    at = "2026-11-21T10:00:00Z"
    return {"id": f"ev_{number}", "type": "elicitation.started", "elicitation": "el_1", "seq": number, "created_at": at,
            "data": {"text": "två\nrader"}}  # fmt: skip


def sse(number: int) -> str:
    """As a stream says it: an id, and JSON over two lines."""
    lines = [f"id: c{number}", "event: t", f'data: {{"id": "ev_{number}",', 'data: "type": "t", "data": {}}', "", ""]
    return "\n".join(lines)


async def first(count: int, events: AsyncGenerator[Event, None]) -> list[Event]:
    taken: list[Event] = []
    async with aclosing(events):
        async for event in events:
            taken.append(event)
            if len(taken) == count:
                break
    return taken


async def test_a_broken_stream_goes_on_behind_the_last_event(service: FakeService, elicit: Elicit) -> None:
    half = 'id: c3\ndata: {"id": "ev_3"'
    service.on(*FEED, stream(": hello\n\n" + sse(1) + sse(2) + half), DROP, stream(sse(3) + ": still here\n\n"))
    events = await first(3, elicit.events("c0"))
    assert [(event.id, event.cursor) for event in events] == [("ev_1", "c1"), ("ev_2", "c2"), ("ev_3", "c3")]
    assert [asked.query.get("after") for asked in service.asked] == ["c0", None, None]
    assert [asked.headers.get("last-event-id") for asked in service.asked] == [None, "c2", "c2"]
    assert service.asked[0].headers["accept"] == "text/event-stream"


async def test_a_stream_that_is_not_admitted_now_is_tried_later(service: FakeService, elicit: Elicit) -> None:
    service.on(*FEED, problem(503, "unavailable", {"Retry-After": "0"}), stream(sse(1)))
    assert [event.id for event in await first(1, elicit.events())] == ["ev_1"]


async def test_a_stream_that_is_refused_says_so(service: FakeService, elicit: Elicit) -> None:
    service.on(*FEED, problem(401, "unauthenticated"))
    with pytest.raises(ElicitError) as refused:
        await first(1, elicit.events())
    assert refused.value.code == "unauthenticated"
    assert len(service.asked) == 1


async def test_a_page_in_place_of_the_stream_is_an_error(service: FakeService, elicit: Elicit) -> None:
    """As at a wrong address, or of a proxy: it was asked for again several times a second, without end."""
    service.on(*FEED, Reply(lines="<p>Welcome</p>", headers={"Content-Type": "text/html"}))
    async with asyncio.timeout(5):
        with pytest.raises(UnexpectedAnswerError, match="text/html"):
            await first(1, elicit.events())
    assert len(service.asked) == 1


async def test_polling_walks_the_pages_by_their_cursor(service: FakeService, elicit: Elicit) -> None:
    pages = [
        {"data": [body(1), body(2)], "cursor": "c2"},
        {"data": [], "cursor": "c2"},
        {"data": [body(3)], "cursor": "c3"},
    ]
    service.on(*FEED, *map(Reply, pages))
    events = await first(3, elicit.events(stream=False))
    assert [(event.seq, event.cursor) for event in events] == [(1, None), (2, "c2"), (3, "c3")]
    assert [asked.query.get("after") for asked in service.asked] == [None, "c2", "c2"]
    assert events[0].data == {"text": "två\nrader"}


async def test_the_newest_cursor_is_asked_for_by_name(service: FakeService, elicit: Elicit) -> None:
    service.on(*FEED, Reply({"data": [], "cursor": "c9"}))
    assert await elicit.newest() == "c9"
    assert service.asked[0].query == {"after": "latest"}
