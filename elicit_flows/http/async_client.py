"""HTTP requests like those of ``client``, from one event loop: many at a time, without a thread for each.

``client`` checks the address and connects, in a thread, and hands the connected socket to the loop. This module speaks
HTTP on that socket. A kept connection needs no thread.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import httptools

from elicit_flows.http import client, destinations
from elicit_flows.http.client import Call, Reply
from elicit_flows.http.destinations import Policy, Refused, Target, Unreachable
from elicit_flows.lib import telemetry

IDLE_OF_ONE = 128  # kept connections to one origin,
IDLE_IN_ALL = 256
DIALING = 256  # connections that are being made: one that hangs has a thread until its deadline
HELD = 256 * 1024  # bytes of a reply that may wait to be read; then nothing more is read from the other side
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(rb"(?:[!-~\x80-\xff](?:[ \t!-~\x80-\xff]*[!-~\x80-\xff])?)?")
_METHOD = re.compile(r"[A-Z]+")
_BROKE_OFF = "The other side broke off or does not speak HTTP."

Origin = tuple[str, str, int]


@dataclass(eq=False)
class Exchange:
    """One request on a connection, and the reply as far as it has arrived. ``begun`` is done with its headers."""

    call: Call
    limit: int
    connection: Connection
    begun: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    headers: dict[str, str] = field(default_factory=dict)
    pieces: deque[bytes] = field(default_factory=deque)  # of the body, that were not read yet
    held: int = 0  # bytes in them
    received: int = 0
    status: int = 0  # of the reply proper; 0 while there are only interim ones
    complete: bool = False
    error: Exception | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    paused: bool = False
    ends_with_connection: bool = False
    reusable: bool = True
    without_body: bool = False  # the answer to HEAD ends with its headers

    def fail(self, error: Exception) -> None:
        self.error = self.error or error
        self.news.set()
        if not self.begun.done():
            self.begun.set_exception(error)

    def too_large(self) -> Unreachable:
        return Unreachable("The answer is too large.", sent=self.call.sent)

    def sent(self, sender: asyncio.Task[None]) -> None:
        """An error of the request's body is one of the exchange."""
        if not sender.cancelled() and isinstance(error := sender.exception(), Exception):
            self.fail(error)

    async def next(self, silence: float | None = None) -> bytes:
        """What has arrived since the last call; b"" at the end. Raises ``Unreachable``, also if nothing arrives within
        ``silence`` seconds, or by the call's deadline. None: whoever asks has a limit of its own.
        """
        if not self.pieces and not self.complete and not self.error:
            self.news.clear()
            try:
                async with asyncio.timeout(None if silence is None else min(silence, self.call.remaining())):
                    await self.news.wait()
            except TimeoutError:
                raise self.call.late() from None
        if self.pieces:
            found = self.pieces.popleft() if len(self.pieces) == 1 else b"".join(self.pieces)
            self.pieces.clear()
            self.held = 0
            if self.paused:
                self.paused = False
                self.connection.resume_reading()
            return found
        if self.error:
            raise self.error
        return b""


class Connection(asyncio.Protocol):
    """A connection to a checked address. It carries one exchange at a time; bytes between two exchanges end it."""

    def __init__(self, rules: Policy) -> None:
        self.rules, self.since = rules, 0.0
        self.alive, self._at_end = True, False
        self.writable = asyncio.Event()
        self.writable.set()
        self._exchange: Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def ask(self, request: bytes, exchange: Exchange) -> None:
        self._exchange, self._parser = exchange, httptools.HttpResponseParser(self)
        exchange.call.sent = True
        self._transport.write(request)

    def write(self, piece: bytes) -> None:
        """Send a piece of the request's body. Wait for ``writable`` before the next one."""
        self._transport.write(piece)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def hang_up(self) -> None:
        self.alive, self._exchange = False, None
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:
            self.hang_up()
            return
        call, rest = exchange.call, memoryview(data)
        try:
            # The parser gets at most the budget at a time, because the end of the headers sets a new budget.
            while rest and not exchange.error:
                if call.budget <= 0:
                    exchange.fail(exchange.too_large())
                    break
                piece, rest = rest[: call.budget], rest[call.budget :]
                call.budget -= len(piece)
                self._parser.feed_data(piece)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            exchange.fail(Unreachable(_BROKE_OFF, sent=True))
        if exchange.complete:
            self._exchange = None
            self.alive = self.alive and exchange.reusable and not exchange.error
            exchange.news.set()

    def eof_received(self) -> None:
        """Nothing follows. With TLS the other side must have said so: a loop calls this for a cut connection, too."""
        tls: ssl.SSLObject | None = self._transport.get_extra_info("ssl_object")
        try:
            self._at_end = tls is None or tls.read(1) == b""
        except ssl.SSLError:  # it waits for more
            self._at_end = False

    def connection_lost(self, error: Exception | None) -> None:
        self.alive, exchange, self._exchange = False, self._exchange, None
        self.writable.set()
        if exchange is None:
            return
        if error is None and self._at_end and exchange.ends_with_connection:
            exchange.complete = True
            exchange.news.set()
        else:
            exchange.fail(Unreachable(_BROKE_OFF, sent=True))

    # What the parser calls. An error raised here would come out as one of the parser's.

    def on_message_begin(self) -> None:
        exchange = self._exchange
        if exchange and exchange.complete:
            exchange.reusable = False  # more than was asked for
        elif exchange:
            exchange.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._exchange
        if exchange and not exchange.complete:
            key, text, former = name.decode("latin-1").lower(), value.decode("latin-1"), exchange.headers
            former[key] = f"{former[key]}, {text}" if key in former else text

    def on_headers_complete(self) -> None:
        exchange, status = self._exchange, self._parser.get_status_code()
        if exchange and not exchange.complete and status >= 200:
            exchange.status = status
            exchange.call.budget = client.body_budget(exchange.limit)
            chunked = exchange.headers.get("transfer-encoding", "").lower().endswith("chunked")
            exchange.ends_with_connection = not chunked and "content-length" not in exchange.headers
            declared = exchange.headers.get("content-length", "")
            if declared.isdigit() and int(declared) > exchange.limit and not exchange.without_body:
                exchange.fail(exchange.too_large())
            elif not exchange.begun.done():
                exchange.begun.set_result(None)
            if exchange.without_body:
                # A server that sends a body all the same would send it into the next exchange.
                exchange.complete, exchange.reusable = True, False

    def on_body(self, body: bytes) -> None:
        exchange = self._exchange
        if exchange and not exchange.complete:
            exchange.received += len(body)
            if exchange.received > exchange.limit:
                exchange.fail(exchange.too_large())
                return
            exchange.pieces.append(body)
            exchange.held += len(body)
            exchange.news.set()
            if exchange.held > HELD and not exchange.paused:
                exchange.paused = True
                self._transport.pause_reading()

    def on_message_complete(self) -> None:
        exchange = self._exchange
        if exchange and exchange.status:
            exchange.complete = True
            exchange.reusable = exchange.reusable and self._parser.should_keep_alive()


class AsyncClient:
    """Sends requests like ``client.send``. Use it from one event loop, and ``close`` it there."""

    def __init__(self) -> None:
        self._dialers = ThreadPoolExecutor(DIALING, thread_name_prefix="dial")
        self._idle: dict[Origin, list[Connection]] = {}
        self._tidying: asyncio.TimerHandle | None = None

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        deadline: float = 10.0,
        limit: int = 65536,
    ) -> Reply:
        """Send one request, not HEAD, and return its whole reply. Arguments and errors are those of ``client.send``."""
        call = Call(time.monotonic() + deadline, client.HEADER_BYTES)
        target = destinations.check_url(url)
        request = written(target, method, client.fields(target, headers or {}, method, body), body)
        with telemetry.span(method, kind="client", http_request_method=method, server_address=target.host) as span:
            try:
                connection, _ = await self.borrow(target, call)
                exchange, received = Exchange(call, limit, connection), bytearray()
                reply: Reply | None = None
                try:
                    async with asyncio.timeout(call.remaining()):
                        connection.ask(request, exchange)
                        await exchange.begun
                        while piece := await exchange.next():
                            received += piece
                        reply = Reply(exchange.status, exchange.headers, bytes(received))
                finally:
                    if reply is None:  # nobody could tell what the next bytes belong to
                        connection.hang_up()
                self.give_back(target, connection)
            except TimeoutError:
                raise call.late() from None
            span.note(http_response_status_code=reply.status)
        return reply

    async def borrow(self, target: Target, call: Call) -> tuple[Connection, bool]:
        """A connection to the target, and whether it was used before. Raises ``Refused`` and ``Unreachable``."""
        origin = target.scheme, target.host, target.port
        # The kept one that was used last, unless it was made under another policy or may be closed already.
        while idle := self._idle.get(origin):
            connection = idle.pop()
            if _is_usable(connection):
                return connection, True
            connection.hang_up()
        self._idle.pop(origin, None)
        return await self.connect(target, call), False

    def give_back(self, target: Target, connection: Connection) -> None:
        """Keep the connection, whose exchange is complete, for the next request."""
        idle = self._idle.setdefault((target.scheme, target.host, target.port), [])
        in_all = sum(map(len, self._idle.values()))
        connection.since = time.monotonic()
        if not _is_usable(connection) or len(idle) >= IDLE_OF_ONE or in_all >= IDLE_IN_ALL:
            connection.hang_up()
            return
        idle.append(connection)
        if self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(client.IDLE_SECONDS, self._tidy)

    def _tidy(self) -> None:
        self._tidying = None
        idle, self._idle = self._idle, {}
        for origin, connections in idle.items():
            for connection in connections:
                if _is_usable(connection):
                    self._idle.setdefault(origin, []).append(connection)
                else:
                    connection.hang_up()
        if self._idle:
            self._tidying = asyncio.get_running_loop().call_later(client.IDLE_SECONDS / 2, self._tidy)

    async def connect(self, target: Target, call: Call) -> Connection:
        """A new connection. Connecting has the call's deadline itself, so its thread always ends."""
        rules = destinations.policy()
        dialled = self._dialers.submit(client.connect, target.host, target.port, call)
        try:
            sock = await asyncio.wrap_future(dialled)
        except asyncio.CancelledError:
            dialled.add_done_callback(_close)
            raise
        sock.setblocking(False)
        loop, tls = asyncio.get_running_loop(), target.scheme == "https"
        connection = None
        try:
            async with asyncio.timeout(call.remaining()):
                _, connection = await loop.create_connection(
                    partial(Connection, rules),
                    sock=sock,
                    ssl=client.pool.tls if tls else None,
                    server_hostname=target.host if tls else None,
                )
        except TimeoutError:
            raise
        except OSError:  # the handshake's errors, too
            raise Unreachable(_BROKE_OFF) from None
        finally:
            if connection is None:
                sock.close()
        return connection

    def close(self) -> None:
        """Close all kept connections. No request may be under way."""
        if self._tidying:
            self._tidying.cancel()
        for connections in self._idle.values():
            for connection in connections:
                connection.hang_up()
        self._idle = {}
        self._dialers.shutdown(wait=False)


def _is_usable(connection: Connection) -> bool:
    in_time = time.monotonic() - connection.since < client.IDLE_SECONDS
    return connection.alive and in_time and connection.rules is destinations.policy()


def _close(dialled: Future[socket.socket]) -> None:
    if not dialled.cancelled() and not dialled.exception():
        dialled.result().close()


def written(target: Target, method: str, fields: list[tuple[bytes, bytes]], body: bytes) -> bytes:
    """The bytes of the request. Raises ``Refused`` if one part of it could be read as another part."""
    if not _METHOD.fullmatch(method) or not all(_NAME.fullmatch(n) and _VALUE.fullmatch(v) for n, v in fields):
        raise Refused("The request cannot be written as HTTP.")
    head = f"{method} {target.path} HTTP/1.1\r\n".encode("ascii")
    return head + b"".join(b"%s: %s\r\n" % field for field in fields) + b"\r\n" + body
