"""Calls that need nothing, between a client and a server that are both on HTTP, beside the library.

As in ``fast_stdio``, only a call of a tool goes this way that the client was shown and that nothing is asked for, and
what is sent is made from what was decided about. The library has to have accepted a request with the same headers. If
the server says anything before its answer, the library takes over: so only plain answers are written here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params, progress_token_from_params

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.fast_stdio import plain_call
from elicit_flows.sdk.gateway.file_guards import Asked
from elicit_flows.sdk.gateway.lines import encoded, from_client
from elicit_flows.sdk.gateway.peers import Peers
from elicit_flows.sdk.gateway.posted import Posted
from elicit_flows.sdk.gateway.wire import (
    CALL,
    VERSION_META,
    is_modern,
    request_for,
    result_for,
)

log = logging.getLogger(__name__)
BEGUN = "elicit_flows.begun"  # the member of a request's scope that has the call which the library takes over
MAX_BODY = 4 * 1024 * 1024  # bytes, as the library
MOST_ACCEPTED = 10_000
# The library ends a session that it has not seen for half an hour, so it sees one request in this time.
ACCEPTED_SECONDS = 300.0
VARYING = (b"content-length", MCP_NAME_HEADER.lower().encode(), MCP_METHOD_HEADER.lower().encode())
SESSION = b"mcp-session-id"
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


class FastHttp:
    """Before the library at one address. ``known``: a client's connections, by the ``_meta`` of its request and its
    session. ``asked``: what is asked before a server's tool runs.
    """

    def __init__(
        self, app: App, known: Callable[[Json, str], Peers | None], asked: Callable[[str, str], tuple[Asked, ...]]
    ) -> None:
        self._app, self._known, self._asked = app, known, asked
        self._accepted: OrderedDict[tuple[Any, Headers], float] = OrderedDict()
        self._open: dict[tuple[str, int | str], Posted] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shape = _shape(scope)
        if scope["method"] == "DELETE":
            ended = (SESSION, _header(scope, SESSION).encode("latin-1"))
            for key in [key for key in self._accepted if ended in key[1]]:
                del self._accepted[key]
        if scope["method"] != "POST" or shape is None:
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            return
        key, session = (caller(), shape), _header(scope, SESSION)
        message = _decoded(body) if self._accepted.get(key, 0.0) > time.monotonic() else None
        if message is not None and await self._cancel(session, message):
            await _respond(send, HTTPStatus.ACCEPTED, b"", session)
        elif message is not None and (posted := self._posted(scope, message, session)) is not None:
            await self._serve(posted, message["id"], scope, body, receive, send)
        else:
            await self._app(scope, _again(body, receive), self._seen(key, send))

    def _posted(self, scope: Scope, message: Json, session: str) -> Posted | None:
        """The call at its server, if it needs nothing and the library would take it too."""
        request, params = message.get("id"), plain_call(message)
        if not isinstance(request, int | str) or isinstance(request, bool) or params is None:
            return None
        meta = params.get("_meta", {})
        progress = progress_token_from_params(params) is not None
        if "progressToken" in meta and not progress:
            return None
        if (session, request) in self._open or not _of_era(scope, meta, params["name"]):
            return None
        peers = self._known(meta, session)
        found = peers.beside(params["name"], self._asked) if peers else None
        if peers is None or found is None or found[1].http is None:
            return None
        (owned, upstream), client = found, peers.client
        sent = request_for(upstream.version, {**params, "name": owned[1]}, client.info, client.capabilities)
        try:
            posted = Posted(peers, upstream, owned, sent, progress)
        except (ValueError, RecursionError):
            return None  # the library says what is wrong with it
        self._tasks.add(posted.task)
        posted.task.add_done_callback(self._tasks.discard)
        return posted

    async def _serve(
        self, posted: Posted, request: int | str, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        session = _header(scope, SESSION)
        self._open[session, request] = posted
        leaving = asyncio.ensure_future(_left(receive))
        try:
            # With 2025-11-25 a client that hangs up has not cancelled its call.
            ends: set[asyncio.Future[Any]] = {posted.first, leaving} if posted.peers.client.modern else {posted.first}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not posted.first.done():
                await posted.give_up()
            elif posted.cancelled:
                await _respond(send, 200, b"", session, b"text/event-stream")
            elif (answer := posted.first.result()) is not None:
                await _respond(send, 200, _written(posted.peers, request, answer), session)
            else:
                leaving.cancel()
                if posted.lost:
                    posted.end()
                else:
                    scope = {**scope, BEGUN: posted}
                await self._app(scope, _again(body, receive), send)
        finally:
            self._open.pop((session, request), None)
            leaving.cancel()
            posted.end()

    async def _cancel(self, session: str, message: Json) -> bool:
        """Whether the message gives up a call that is passed on here. A client of 2026-07-28 hangs up instead: it has
        no session, so a number alone could be that of anybody's call.
        """
        params = message.get("params")
        if message.get("method") != "notifications/cancelled" or "id" in message or not isinstance(params, dict):
            return False
        request = cancelled_request_id_from_params(params)
        posted = self._open.get((session, request)) if request is not None else None
        if posted is None or posted.first.done() or posted.peers.client.modern:
            return False
        posted.cancelled = True
        await posted.give_up()
        return True

    def _seen(self, key: tuple[Any, Headers], send: Send) -> Send:
        """Remember the headers that the library accepts."""

        async def seen(message: Scope) -> None:
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
                self._accepted[key] = time.monotonic() + ACCEPTED_SECONDS
                self._accepted.move_to_end(key)
                while len(self._accepted) > MOST_ACCEPTED:
                    self._accepted.popitem(last=False)
            await send(message)

        return seen


def caller() -> tuple[Any, ...]:
    """The user and client of the access token that the library has verified for this request."""
    token = get_access_token()
    return ((token.claims or {}).get("iss"), token.subject, token.client_id) if token else ()


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for one, value in scope["headers"] if one == name), "")


def _shape(scope: Scope) -> Headers | None:
    """What is the same in the headers of all requests of a client; None for one that is the library's."""
    headers = scope["headers"]
    names = [name for name, _ in headers]
    length = _header(scope, b"content-length")
    if any(names.count(one) > 1 for one in VARYING) or any(name.startswith(b"mcp-param-") for name in names):
        return None
    if not length.isdecimal() or int(length) > MAX_BODY:
        return None
    return tuple(sorted((name, value) for name, value in headers if name not in VARYING))


def _of_era(scope: Scope, meta: Json, tool: str) -> bool:
    """Whether the headers repeat what the call says, as its era has it."""
    version = _header(scope, MCP_PROTOCOL_VERSION_HEADER.lower().encode())
    if VERSION_META not in meta:
        return bool(_header(scope, SESSION)) and not is_modern(version)
    said = [_header(scope, one) for one in VARYING[1:]]
    return version == meta[VERSION_META] and said == [encode_header_value(tool), CALL]


async def _body(receive: Receive) -> bytes | None:
    """None if the client hangs up before the end."""
    found: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        found.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(found)


def _again(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives what was read already."""
    first: list[Scope] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Scope:
        return first.pop() if first else await receive()

    return again


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _decoded(body: bytes) -> Json | None:
    try:
        message = from_client(body.decode())
    except (ValueError, RecursionError):
        return None  # the library says what is wrong with it
    return message if isinstance(message, dict) else None


def _written(peers: Peers, request: int | str, answer: Json) -> bytes:
    said: Json = {"jsonrpc": "2.0", "id": request}
    if "error" in answer:
        said["error"] = peers.shown(answer["error"])
    else:
        said["result"] = result_for(peers.client.version, CALL, peers.shown(answer["result"]))
    return encoded(said).encode()


async def _respond(send: Send, status: int, body: bytes, session: str, kind: bytes = b"application/json") -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if session:
        headers.append((SESSION, session.encode("latin-1")))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
