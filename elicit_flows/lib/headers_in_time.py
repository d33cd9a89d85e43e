"""uvicorn's HTTP protocol with a deadline for request headers: a connection that never finishes asking is closed.

It also tells a request that waits that the server stops: ``scope["on_leaving"]`` takes what to call then. By itself
uvicorn leaves such a request alone until its time of grace is over, and cuts it off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 20.0


class HeadersInTime(HttpToolsProtocol):
    """Counts from the connection, and on a kept connection from the next request's first byte."""

    _deadline: asyncio.TimerHandle | None = None
    _leaving: Callable[[], object] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._deadline is None:
            self._start()
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._leaving = None
        self.scope["on_leaving"] = self._on_leaving  # type: ignore[typeddict-unknown-key]

    def _on_leaving(self, call: Callable[[], object]) -> None:
        self._leaving = call

    def shutdown(self) -> None:
        super().shutdown()
        if self._leaving:
            self._leaving()

    def on_headers_complete(self) -> None:
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
