"""GET /v1/events that waits: a page as soon as there are events, or a stream of server-sent events."""

from __future__ import annotations

from elicit_flows.api import responses
from elicit_flows.api.streaming.broker import Asker, Broker
from elicit_flows.api.streaming.longpoll import Query, number, seconds
from elicit_flows.api.streaming.subscriptions import EVERYTHING, Watch
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.events import feed
from elicit_flows.lib.wsgi_bridge import Send, respond

HEARTBEAT = 15.0
PAGE, MAX_PAGE = 100, 1000
STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
Pair = tuple[int, Json]


async def page(hub: Broker, asker: Asker, query: Query, send: Send) -> None:
    """The events after ``after``; if there are none, as soon as one comes, after at most ``wait`` seconds."""
    wait, limit = seconds(query), page_size(query)
    position = await _position(hub, asker, one(query, "after"))
    async with hub.watching(asker) as watch:
        with watch.waiting_for(EVERYTHING) as waiter:
            pairs = await _since(hub, watch, asker.agent_id, position, limit)
            if not pairs:
                await waiter.told(wait)
                pairs = await _since(hub, watch, asker.agent_id, position, limit)
    last = pairs[-1][0] if pairs else position
    body = {"data": [event for _, event in pairs], "cursor": feed.cursor(asker.agent_id, last)}
    await respond(send, 200, responses.JSON_HEADERS, responses.dumps(body))


async def stream(hub: Broker, asker: Asker, last_id: str, query: Query, send: Send) -> None:
    """Every event after the cursor, for as long as the client listens and its key is valid."""
    reached = await _position(hub, asker, last_id or one(query, "after"))
    del last_id, query  # it may wait for hours
    await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
    async with hub.watching(asker) as watch:
        with watch.waiting_for(EVERYTHING) as waiter:
            while watch.key_hash == asker.key_hash:
                pairs = await _since(hub, watch, asker.agent_id, reached, PAGE)
                for reached, event in pairs:
                    await send(
                        _chunk(
                            f"id: {feed.cursor(asker.agent_id, reached)}\nevent: {event['type']}\n"
                            f"data: {responses.dumps(event).decode()}\n\n"
                        )
                    )
                if not pairs and not await waiter.told(HEARTBEAT):
                    await send(_chunk(": still here\n\n"))
    await send({"type": "http.response.body", "body": b""})


async def _position(hub: Broker, asker: Asker, cursor: str) -> int:
    """The position in the cursor. Only ``latest`` needs the database."""
    if cursor == feed.LATEST:
        return await hub.run(lambda: feed.position(asker.agent_id, cursor))
    return feed.position(asker.agent_id, cursor)


async def _since(hub: Broker, watch: Watch, agent_id: int, position: int, limit: int) -> list[Pair]:
    """The events from memory if it reaches back far enough, or else from the database."""
    pairs = watch.since(position)
    if pairs is None or position > watch.position:
        rows = await hub.run(lambda: feed.after(agent_id, position, limit))
        pairs = [(row.position, row.body()) for row in rows]
    return pairs[:limit]


def _chunk(text: str) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


def one(query: Query, name: str) -> str:
    return query.get(name, [""])[0]


def page_size(query: Query) -> int:
    limit = number(query, "limit")
    if limit is not None and not 1 <= limit <= MAX_PAGE:
        raise Invalid.at("query.limit", f"This must be a whole number from 1 to {MAX_PAGE}.")
    return limit or PAGE
