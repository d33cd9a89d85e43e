"""A receiver of webhooks that is as quick as can be: it notes when each event came, and may let some paths hang."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import Any, cast

import uvloop

from bench.talk import serve
from tests.support.ports import free_port

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_EVENT = re.compile(rb"webhook-id: *([^\r]+)", re.IGNORECASE)
_MADE = re.compile(rb'"created_at":"([^"]+)"')
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Sink:
    """What came: (path, event id, created_at of the event, seconds since the epoch when it came)."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, str, float]] = []
        self.hanging: set[str] = set()


class Connection(asyncio.Protocol):
    def __init__(self, sink: Sink) -> None:
        self.sink, self.buffer = sink, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or len(body) < int(length[1] if length else 0):
            return
        self.buffer = b""
        path, event, made = head.split(b" ", 2)[1].decode(), _EVENT.search(head), _MADE.search(body)
        self.sink.got.append((path, event[1].decode() if event else "", made[1].decode() if made else "", time.time()))
        if path not in self.sink.hanging:
            self.transport.write(OK)


SINK, LOOP, PORT = Sink(), uvloop.new_event_loop(), free_port()


def hang(paths: list[str]) -> None:
    """These paths take a request and never answer; the others answer 200."""
    SINK.hanging = set(paths)


def got() -> list[tuple[str, str, str, float]]:
    """Everything since the last call."""
    found, SINK.got = SINK.got, []
    return found


async def _listen() -> Any:
    return await LOOP.create_server(lambda: Connection(SINK), "127.0.0.1", PORT, backlog=1024)


if __name__ == "__main__":
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(_listen(), LOOP).result()
    serve(hang=hang, got=got, port=lambda: PORT)
