"""uvicorn's server and HTTP protocol, with what they lack.

The head of a request has limits: how long it may take to arrive, and how many bytes it has.

A server that stops answers every request that has reached it. uvicorn by itself resets connections that wait in the
queue of the listening socket and those whose request it has not read yet; a proxy cannot send a POST again after that,
and answers 502.

Waiting requests are told that the server stops or that the client has gone: ``scope["on_leaving"]`` takes a function to
call then. uvicorn by itself waits for them until the grace period is over, and then cuts them off.

An answer that has begun and cannot be finished is broken off with ``scope["abort"]``, so that the client does not take
what it has for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

HEADER_SECONDS = 20.0
# Request line and headers together. The parser appends to a header that is still arriving, so without a limit an
# endless header costs more with every byte, while all other requests wait.
HEAD_BYTES = 64 * 1024
# How many bytes the parser gets at once. If a request begins in the middle of such a piece (pipelining), up to this
# many bytes of its head are not counted.
PIECE = 16 * 1024
# How long the rest of a refused request is read and discarded. A connection that is closed with unread bytes is reset,
# and the client would lose the answer.
REFUSED_SECONDS = 2.0
# How long a new connection has for its first request after the server was told to stop.
LEAVING_SECONDS = 2.0


class GracefulServer(uvicorn.Server):
    """Takes the connections that are in the queue of its sockets before it closes them."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        listeners = [listener for server in self.servers for listener in server.sockets]
        # The queue lives as long as one descriptor of the socket is open.
        queues = [socket.fromfd(listener.fileno(), listener.family, listener.type) for listener in listeners]
        for listener in listeners:
            loop.remove_reader(listener.fileno())
        # If its server is closed, asyncio drops a connection that it has accepted and given to no protocol yet.
        await asyncio.sleep(0.05)
        for server in self.servers:
            server.close()
        queued = []
        for queue in queues:
            queue.setblocking(False)
            with queue, contextlib.suppress(OSError):  # the queue is empty, or no file descriptor is left
                while True:
                    queued.append(queue.accept()[0])
        for connection in queued:
            await loop.connect_accepted_socket(self._last_protocol, connection)
        await super().shutdown(sockets)

    def _last_protocol(self) -> LimitedHeadProtocol:
        protocol = LimitedHeadProtocol(self.config, self.server_state, self.lifespan.state)
        protocol.last = True
        return protocol


class SmallEvent(asyncio.Event):
    """An event whose list of who waits is made when somebody does. A connection has two, and a deque takes 0.7 kB."""

    def __init__(self, *, is_set: bool = False) -> None:
        self._value = is_set
        self._waiters: Any = ()

    def set(self) -> None:
        self._value = True
        for asleep in self._waiters:
            if not asleep.done():
                asleep.set_result(None)

    async def wait(self) -> Literal[True]:
        if not self._value:
            asleep = asyncio.get_running_loop().create_future()
            self._waiters = (*self._waiters, asleep)
            try:
                await asleep
            finally:
                self._waiters = tuple(one for one in self._waiters if one is not asleep)
        return True


class SmallQueue(list[Any]):
    """What uvicorn needs of a deque for pipelined requests. They are rare, and a deque takes 0.7 kB."""

    def appendleft(self, item: object) -> None:
        self.insert(0, item)


class LimitedHeadProtocol(HttpToolsProtocol):
    """The time counts from the connection, and on a kept connection from the first byte of the next request.

    Everything outside of a body counts: the request line, headers, and the size lines and trailers of a chunked body.
    The count starts again with each request and each piece of a body.
    """

    # With more than 30 attributes outside of slots, Python gives each connection a dictionary of its own: 1.5 kB.
    __slots__ = ("_deadline", "_deaf", "_head_bytes", "_in_body", "_leaving", "last")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pipeline = SmallQueue()  # type: ignore[assignment]
        self._deadline: asyncio.TimerHandle | None = None
        self._leaving: Callable[[], object] | None = None
        self._head_bytes = 0
        self._in_body = False
        self._deaf = False  # nothing more is read on this connection
        self.last = False  # the server stops: the next answer ends the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow._is_writable_event = SmallEvent(is_set=True)
        self._start()

    def data_received(self, data: bytes) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._deadline is None and not self._deaf:
            self._start()
        for start in range(0, len(data), PIECE):
            if self._deaf or self.transport.is_closing():
                return
            piece = data[start : start + PIECE]
            self._head_bytes += len(piece)
            super().data_received(piece)
            if self._head_bytes >= HEAD_BYTES:
                self._refuse()

    def _refuse(self) -> None:
        """Answer 431 (RFC 6585). Earlier requests on the connection are answered first; then nothing more is read."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self.pipeline or cycle.response_started or not cycle.more_body:
                self._deaf = True
                self._stop()
                cycle.keep_alive = False
                return
            cycle.disconnected = True  # the endless part is this request's own body, so tell its reader
            cycle.message_event.set()
        self._end(431, f"A request's line and headers may have {HEAD_BYTES} bytes.")

    def send_400_response(self, msg: str) -> None:
        self._end(400, msg)

    def _end(self, status: int, text: str) -> None:
        """Answer, and close the connection after the client had time to read the answer."""
        self._deaf = True
        self._stop()
        content = text.encode()
        head = (
            b"content-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head % len(content) + content)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(REFUSED_SECONDS, self.transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._leaving, self._in_body = None, False
        self.scope["on_leaving"] = self._on_leaving  # type: ignore[typeddict-unknown-key]
        self.scope["abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Ignore trailers: uvicorn by itself adds them to the headers, some of which were checked already."""
        if not self._in_body:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_chunk_complete(self) -> None:
        self._head_bytes = 0

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()

    def _on_leaving(self, call: Callable[[], object]) -> None:
        self._leaving = call

    def shutdown(self) -> None:
        self.last = True
        if self.cycle is None and not self.transport.is_closing():
            # The first request may be on its way, or be here and not read. A connection that was kept after an earlier
            # request is closed: its client has to expect that (RFC 9112, 9.3.1).
            self.loop.call_later(LEAVING_SECONDS, self._close_unused)
            return
        super().shutdown()
        if self._leaving:
            self._leaving()

    def _close_unused(self) -> None:
        if self.cycle is None:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._stop()
        super().on_headers_complete()
        self.cycle.message_event = SmallEvent()  # nobody waits yet: the request's task has not begun
        if self.last:
            self.cycle.keep_alive = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)
        if self._leaving:
            self._leaving()
            self._leaving = None

    def _unsupported_upgrade_warning(self) -> None:
        """Ignore an ``Upgrade`` (RFC 9110, 7.8): answer the request and close, because the parser reads nothing after
        it.
        """
        self._deaf = True
        self.cycle.keep_alive = False

    def _start(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
