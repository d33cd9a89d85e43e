"""A request and a reply whose bodies are passed on piece by piece, on the connections of an ``AsyncClient``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from elicit_flows.http import async_client, client
from elicit_flows.http.async_client import AsyncClient, Connection, Exchange
from elicit_flows.http.client import Call
from elicit_flows.http.destinations import Refused, Target, Unreachable
from elicit_flows.lib import telemetry

REPEATABLE = ("GET", "HEAD")  # a request that may be sent again, and has no body
_FRAMING = frozenset({"content-length", "transfer-encoding", "trailer", "te", "upgrade", "connection"})


@dataclass(frozen=True)
class Upload:
    """A request's body. ``length``: in bytes, if it is known; the pieces must be exactly as many."""

    pieces: AsyncIterator[bytes]
    length: int | None = None


@asynccontextmanager
async def _in_time(call: Call, silence: float) -> AsyncIterator[None]:
    """Raises ``Unreachable`` after ``silence`` seconds, or at the call's deadline."""
    try:
        async with asyncio.timeout(min(silence, call.remaining())):
            yield
    except TimeoutError:
        raise call.late() from None


@dataclass(frozen=True)
class StreamedReply:
    """``headers``: names in lower case, repeated ones joined with ", ". ``pieces`` may be read once."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


@asynccontextmanager
async def stream(
    http: AsyncClient,
    method: str,
    target: Target,
    *,
    headers: Mapping[str, str],
    body: Upload | bytes,
    deadline: float,
    silence: float,
    limit: int,
) -> AsyncIterator[StreamedReply]:
    """Send one request to a checked target, and give its reply as soon as its headers are there.

    ``deadline``: seconds for everything. ``silence``: seconds in which something has to arrive, or be taken from us.
    ``limit``: the most bytes of the reply's body. Raises ``Refused``, ``Unreachable``, and what ``body`` raises; so
    does reading the pieces.

    A kept connection may be closed at the moment in which it is used. A request that has no effect when it is repeated
    (GET, HEAD) is then sent again.
    """
    call = Call(time.monotonic() + deadline, client.HEADER_BYTES)
    given = dict(client.fields(target, headers, "GET", b""))
    if not _FRAMING.isdisjoint(name.decode() for name in given):
        raise Refused("The request cannot be written as HTTP.")
    # How the other side finds the end of the body: by its length, or by chunks.
    length = body.length if isinstance(body, Upload) else len(body)
    if length is None:
        given[b"transfer-encoding"] = b"chunked"
    elif length or method not in REPEATABLE:
        given[b"content-length"] = b"%d" % length
    begin = async_client.written(target, method, list(given.items()), body if isinstance(body, bytes) else b"")
    with telemetry.span(method, kind="client", http_request_method=method, server_address=target.host) as span:
        asked = _Asked(http, target, call, limit, silence)
        try:
            exchange = await asked.ask(begin, body if isinstance(body, Upload) else None, method)
            span.note(http_response_status_code=exchange.status)
            yield StreamedReply(exchange.status, exchange.headers, asked.pieces())
        finally:
            await asked.end()


class _Asked:
    """One request under way, with the connection that it has now."""

    def __init__(self, http: AsyncClient, target: Target, call: Call, limit: int, silence: float) -> None:
        self._http, self._target, self._call, self._limit, self._silence = http, target, call, limit, silence
        self._connection: Connection | None = None
        self._exchange: Exchange | None = None
        self._sender: asyncio.Task[None] | None = None

    async def ask(self, begin: bytes, upload: Upload | None, method: str) -> Exchange:
        """Send the request and wait for the headers of the reply."""
        self._connection, reused = await self._http.borrow(self._target, self._call)
        try:
            return await self._exchanged(begin, upload, method)
        except Unreachable:
            silent = self._call.budget == client.HEADER_BYTES and self._connection and not self._connection.alive
            if not (reused and silent and upload is None and method in REPEATABLE):
                raise
        # The kept connection was closed at the moment in which it was used.
        self._connection = await self._http.connect(self._target, self._call)
        return await self._exchanged(begin, upload, method)

    async def _exchanged(self, begin: bytes, upload: Upload | None, method: str) -> Exchange:
        if self._connection is None:
            raise Unreachable("There is no connection.")
        exchange = Exchange(self._call, self._limit, self._connection, without_body=method == "HEAD")
        self._exchange = exchange
        self._connection.ask(begin, exchange)
        if upload:
            self._sender = asyncio.ensure_future(self._send(upload, exchange))
            self._sender.add_done_callback(exchange.sent)
            await asyncio.wait({exchange.begun, self._sender}, return_when=asyncio.FIRST_COMPLETED)
        async with _in_time(self._call, self._silence):
            await asyncio.shield(exchange.begun)
        return exchange

    async def _send(self, upload: Upload, exchange: Exchange) -> None:
        connection = exchange.connection
        async for piece in upload.pieces:
            if piece:
                connection.write(piece if upload.length is not None else b"%x\r\n%b\r\n" % (len(piece), piece))
                async with _in_time(self._call, self._silence):
                    await connection.writable.wait()
        if upload.length is None:
            connection.write(b"0\r\n\r\n")

    async def pieces(self) -> AsyncIterator[bytes]:
        while self._exchange and (piece := await self._exchange.next(self._silence)):
            yield piece

    async def end(self) -> None:
        """Keep the connection if both sides have sent all; hang up if they have not."""
        sender, exchange, connection = self._sender, self._exchange, self._connection
        if connection is None:
            return
        sent = sender is None or (sender.done() and not sender.cancelled() and not sender.exception())
        if sender and not sender.done():
            sender.cancel()
            await asyncio.wait({sender})
        if exchange and exchange.complete and sent:
            if exchange.paused:
                connection.resume_reading()
            self._http.give_back(self._target, connection)
        else:
            connection.hang_up()
