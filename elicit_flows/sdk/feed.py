"""The agent's events, in order and without end: as a stream (server-sent events) or by long-polling."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import httpx2

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Event
from elicit_flows.sdk.transport import CONNECT_SECONDS, Patience, Transport, problem

PATH = "/v1/events"
POLL_SECONDS = 25
SILENCE_SECONDS = 45.0  # the service sends a comment every 15 s: three missed means that nobody is there


async def stream(transport: Transport, after: str | None, patience: float) -> AsyncGenerator[Event, None]:
    """Events over one connection, opened again behind the last event seen (Last-Event-ID) whenever it breaks."""
    endurance, cursor = Patience(patience), after
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS)
    headers: dict[str, str] = {}
    params = {"after": after} if after else {}
    while True:
        broken = ElicitError("unreachable", f"The service at {transport.url} closed the stream")
        try:
            async with transport.http.sse(PATH, params=params, headers=headers, timeout=timeout) as source:
                await _check(source.response)
                endurance.reset()
                async for message in source:
                    if message.data:
                        cursor = message.id or cursor
                        yield Event.read(json.loads(message.data), cursor)
        except httpx2.TransportError as error:
            broken = transport.unreachable(error)
        except ElicitError as error:
            if error.status is not None and error.status < 500 and error.status != httpx2.codes.TOO_MANY_REQUESTS:
                raise
            broken = error
        if cursor:
            headers, params = {"Last-Event-ID": cursor}, {}
        await endurance.bear(broken)


async def poll(transport: Transport, after: str | None, patience: float) -> AsyncGenerator[Event, None]:
    """Events page by page. Only a page's last event carries the cursor behind it; the others the one before it."""
    cursor = after
    while True:
        params: dict[str, str | int] = {"wait": POLL_SECONDS} | ({"after": cursor} if cursor else {})
        page = await transport.call("GET", PATH, params=params, patience=patience, hold=POLL_SECONDS)
        *earlier, last = page["data"] or [None]
        for body in earlier:
            yield Event.read(body, cursor)
        cursor = page["cursor"]
        if last:
            yield Event.read(last, cursor)


async def _check(response: httpx2.Response) -> None:
    if not response.is_success:
        await response.aread()
        raise problem(response)
