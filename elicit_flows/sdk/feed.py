"""The agent's events in order, without end: as a stream (server-sent events) or by long-polling."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from functools import partial

import httpx2

from elicit_flows.domain.values import Json
from elicit_flows.sdk.errors import ElicitError, UnexpectedAnswerError, UnreachableError
from elicit_flows.sdk.shapes import Event
from elicit_flows.sdk.transport import RetryLimit, Transport, problem

PATH = "/v1/events"
POLL_SECONDS = 25
SILENCE_SECONDS = 45.0  # the service sends a comment every 15 s; after three missed ones the connection is dead


async def stream(transport: Transport, after: str | None, retry_for: float) -> AsyncGenerator[Event, None]:
    """Events from one connection. When it breaks, it is opened again after the last event seen (Last-Event-ID)."""
    retries, cursor = RetryLimit(retry_for), after
    timeout = httpx2.Timeout(transport.timeout, read=SILENCE_SECONDS)
    headers = transport.headers | {"Accept": "text/event-stream"}
    params = {"after": after} if after else {}
    while True:
        broken: ElicitError = UnreachableError("unreachable", f"The service at {transport.url} closed the stream")
        try:
            async with transport.http.sse(
                transport.url + PATH, params=params, headers=headers, timeout=timeout, follow_redirects=False
            ) as source:
                response = source.response
                if not response.is_success:
                    await response.aread()
                    raise problem(response)
                retries.reset()
                async for message in source:
                    if message.data:
                        cursor = message.id or cursor
                        yield transport.understood(partial(_event, cursor), message.data)
        except httpx2.SSEError as error:
            raise UnexpectedAnswerError("unexpected_answer", str(error), status=200) from error
        except httpx2.RequestError as error:
            broken = transport.unreachable(error)
        except ElicitError as error:
            if error.status is not None and error.status < 500 and error.status != httpx2.codes.TOO_MANY_REQUESTS:
                raise
            broken = error
        if cursor:
            headers, params = headers | {"Last-Event-ID": cursor}, {}
        await retries.pause_after(broken)


async def poll(transport: Transport, after: str | None, retry_for: float) -> AsyncGenerator[Event, None]:
    """Events page by page. The last event of a page carries the page's cursor, the others carry the cursor
    before it.
    """
    cursor = after
    while True:
        params: dict[str, str | int] = {"wait": POLL_SECONDS} | ({"after": cursor} if cursor else {})
        events, cursor = await transport.fetch(
            partial(_page, cursor), "GET", PATH, params=params, retry_for=retry_for, hold=POLL_SECONDS
        )
        for event in events:
            yield event


def _event(cursor: str | None, text: str) -> Event:
    return Event.read(json.loads(text), cursor)


def _page(before: str | None, body: Json) -> tuple[list[Event], str]:
    last = len(body["data"]) - 1
    cursor = str(body["cursor"])
    return [Event.read(one, cursor if at == last else before) for at, one in enumerate(body["data"])], cursor
