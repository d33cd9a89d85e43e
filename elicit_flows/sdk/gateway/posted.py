"""A call that is posted to a server with an address, beside the library, which would take most of its time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.lines import MAX_LINE, encoded, from_server
from elicit_flows.sdk.gateway.peers import Exchange, Peers
from elicit_flows.sdk.gateway.upstream import Upstream
from elicit_flows.sdk.gateway.wire import (
    CALL,
    MCP_SESSION_ID,
    asks_for_input,
    headers_for,
    is_modern,
    result_of,
    unknown_session,
    well_formed,
)

log = logging.getLogger(__name__)
DRAIN_SECONDS = 1.0
POSTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass(slots=True, eq=False)
class Posted:
    """A call at a server. ``first``: its answer, or None if the library has to take over; then ``answer`` has it.
    ``lost``: the server did not know the session, so it has not run the call.

    Raises ValueError for a number that is none of JSON, and RecursionError.
    """

    peers: Peers
    upstream: Upstream
    owned: tuple[str, str]
    params: Json
    progress: bool
    made: Exchange = field(init=False)
    first: asyncio.Future[Json | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    answer: asyncio.Future[Json] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    task: asyncio.Task[None] = field(init=False)
    replies: set[asyncio.Task[None]] = field(default_factory=set)
    number: int = field(init=False)
    body: bytes = field(init=False)
    sent: bool = False
    cancelled: bool = False
    lost: bool = False

    def __post_init__(self) -> None:
        self.number = next(self.upstream.ids)
        if self.progress:
            self.params = {**self.params, "_meta": {**self.params.get("_meta", {}), "progressToken": self.number}}
        said = {"jsonrpc": "2.0", "id": self.number, "method": CALL, "params": self.params}
        self.body = encoded(said).encode()
        self.made = Exchange(self)
        self.peers.begin(self.upstream.name, self.made)
        self.task = asyncio.create_task(self._run())

    async def result(self) -> Json:
        """For the library. Raises MCPError."""
        try:
            message = await self.answer
        except asyncio.CancelledError:
            await self.give_up()
            raise
        return result_of(message)

    async def give_up(self) -> None:
        """Cancel the call. To a server of 2026-07-28 the end of its connection says so."""
        self.task.cancel()
        if self.sent and not is_modern(self.upstream.version):
            told = {"requestId": self.number, "reason": "cancelled"}
            await self.upstream.notify("notifications/cancelled", told)

    def end(self) -> None:
        """The client has its answer or waits no more, unless the library has taken over: then the call may go on with
        a later request of the client.
        """
        if not self.made.taken.is_set():
            if not self.answer.done():
                self.task.cancel()
            self.peers.end(self.upstream.name, self.made)
            self.made.taken.set()  # what waits for the library waits no more

    async def _run(self) -> None:
        said: Json = {"error": {"code": CONNECTION_CLOSED, "message": "Connection closed"}}
        headers = self._headers(CALL, self.params)
        on_progress = self._progressed if self.progress else None
        self.sent = True  # a server may work on it for long before its answer begins
        try:
            async with (
                asyncio.timeout(None) as ending,
                self.upstream.posting(self.number, self.body, headers, on_progress) as response,
            ):
                self.lost = unknown_session(response) != ""
                async for message in _messages(response):
                    if "method" in message and not self.answer.done():
                        await self._take_over(message)
                    elif not self.answer.done():
                        self._answered(well_formed(message))
                        # The connection can be used again once the server has ended what it says.
                        ending.reschedule(asyncio.get_running_loop().time() + DRAIN_SECONDS)
        except TimeoutError:
            log.debug("the server %s does not end its answers", self.upstream.name)
        except (httpx2.HTTPError, ValueError, RecursionError) as failed:
            said["error"]["data"] = type(failed).__name__
        finally:
            self._answered(said)

    async def _take_over(self, message: Json) -> None:
        """The server says something else than its answer: the library brings it to the client."""
        if not self.first.done():
            self.first.set_result(None)
        await self.made.taken.wait()
        method, params = str(message["method"]), dict(message.get("params") or {})
        if "id" not in message:
            await self.upstream.hear(method, params)
            return
        replying = asyncio.create_task(self._reply(message["id"], method, params))
        self.replies.add(replying)
        replying.add_done_callback(self.replies.discard)

    async def _progressed(self, params: Json) -> None:
        """The server says how far it is, here or on another stream of its session."""
        if self.answer.done():
            return
        if not self.first.done():
            self.first.set_result(None)
        await self.made.taken.wait()
        if self.made.context is not self and type(params.get("progress")) in (int, float):
            total, message = params.get("total"), params.get("message")
            await self.peers.progressed(
                self.made,
                float(params["progress"]),
                float(total) if isinstance(total, int | float) else None,
                message if isinstance(message, str) else None,
            )

    async def _reply(self, request: Any, method: str, params: Json) -> None:
        """What the client answers to the server's own request."""
        said: Json = {"jsonrpc": "2.0", "id": request}
        try:
            said["result"] = await self.upstream.on_request(method, params)
        except MCPError as refused:
            said["error"] = refused.error.model_dump(mode="json", exclude_none=True)
        if self.upstream.http is not None:
            headers = self._headers("", {})
            with suppress(httpx2.HTTPError):
                url, body = str(self.upstream.section.url), encoded(said).encode()
                await self.upstream.http.post(url, content=body, headers=headers)

    def _headers(self, method: str, params: Json) -> dict[str, str]:
        session = {MCP_SESSION_ID: self.upstream.session} if self.upstream.session else {}
        return headers_for(self.upstream.version, method, params) | POSTED | session

    def _answered(self, message: Json) -> None:
        if not self.first.done():
            modern = self.peers.client.modern
            library = modern if "error" in message else asks_for_input(message["result"])
            self.first.set_result(None if library or self.lost else message)
        if not self.answer.done():
            self.answer.set_result(message)


async def _messages(response: httpx2.Response) -> AsyncIterator[Json]:
    """What a server says in its answer to a request. Raises ValueError for what is no message."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        yield _message((await response.aread()).decode())
    elif kind == "text/event-stream" and response.status_code == HTTPStatus.OK:
        async for event in httpx2.EventSource(response, max_event_size=MAX_LINE):
            if event.data:  # one without is for going on after a lost connection
                yield _message(event.data)
    else:
        raise ValueError(f"HTTP {response.status_code}")


def _message(text: str) -> Json:
    message = from_server(text)
    if not isinstance(message, dict):
        raise ValueError("This is no message of JSON-RPC.")  # noqa: TRY004 - what the server sent is wrong
    return message
