"""GET /v1/events that wait: a page as soon as there is one, or a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from elicit_flows.api import problems
from elicit_flows.api.waiting.hub import Hub, Watch
from elicit_flows.api.waiting.longpoll import Query, number, seconds
from elicit_flows.errors import FlowError, Invalid
from elicit_flows.lib.pooled import Send, respond
from elicit_flows.models import Agent
from elicit_flows.queue import feed
from elicit_flows.values import Json

HEARTBEAT = 15.0
PAGE, MAX_PAGE = 100, 1000
STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
Pair = tuple[int, Json]


async def page(hub: Hub, agent: Agent, query: Query, send: Send) -> None:
    """The events behind ``after``; when there are none, as soon as one comes, at the latest after ``wait`` seconds."""
    position, limit = feed.position(agent.pk, one(query, "after")), page_size(query)
    async with hub.watching(agent.pk) as watch:
        with subscribed(watch) as moved:
            pairs = await _since(hub, watch, agent.pk, position, limit)
            if not pairs:
                await _woken(moved, seconds(query))
                pairs = await _since(hub, watch, agent.pk, position, limit)
    last = pairs[-1][0] if pairs else position
    body = {"data": [event for _, event in pairs], "cursor": feed.cursor(agent.pk, last)}
    await respond(send, 200, problems.JSON_HEADERS, problems.dumps(body))


async def stream(
    hub: Hub, agent: Agent, last_id: str, query: Query, send: Send, still: Callable[[], Awaitable[Agent]]
) -> None:
    """Every event behind the cursor, for as long as the client listens and its key is good."""
    position = feed.position(agent.pk, last_id or one(query, "after"))
    await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
    async with hub.watching(agent.pk) as watch:
        with subscribed(watch) as moved:
            while await _valid(still):
                pairs = await _since(hub, watch, agent.pk, position, PAGE)
                for position, event in pairs:
                    await send(_chunk(_said(agent.pk, position, event)))
                if not pairs and not await _woken(moved, HEARTBEAT):
                    await send(_chunk(": still here\n\n"))
    await send({"type": "http.response.body", "body": b""})


@contextmanager
def subscribed(watch: Watch) -> Iterator[asyncio.Event]:
    moved = asyncio.Event()
    watch.streams.add(moved)
    try:
        yield moved
    finally:
        watch.streams.discard(moved)


async def _since(hub: Hub, watch: Watch, agent_id: int, position: int, limit: int) -> list[Pair]:
    """From memory where it reaches back far enough, else from the database."""
    pairs = watch.since(position)
    if pairs is None or position > watch.position:
        rows = await hub.run(lambda: feed.after(agent_id, position, limit))
        pairs = [(row.position, row.body()) for row in rows]
    return pairs[:limit]


async def _woken(moved: asyncio.Event, timeout: float) -> bool:
    try:
        async with asyncio.timeout(timeout):  # wait_for may swallow the cancelling of a request whose client has left
            await moved.wait()
    except TimeoutError:
        return False
    moved.clear()
    return True


async def _valid(still: Callable[[], Awaitable[Agent]]) -> bool:
    try:
        await still()
    except FlowError:
        return False
    return True


def _said(agent_id: int, position: int, event: Json) -> str:
    return f"id: {feed.cursor(agent_id, position)}\nevent: {event['type']}\ndata: {problems.dumps(event).decode()}\n\n"


def _chunk(text: str) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


def one(query: Query, name: str) -> str:
    values = query.get(name, [""])
    if len(values) > 1:
        raise Invalid.at(f"query.{name}", "This may be given once.")
    return values[0]


def page_size(query: Query) -> int:
    limit = number(query, "limit")
    if limit is not None and not 1 <= limit <= MAX_PAGE:
        raise Invalid.at("query.limit", f"This must be a whole number from 1 to {MAX_PAGE}.")
    return limit or PAGE
