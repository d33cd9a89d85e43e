"""A token endpoint that is as quick as can be, or answers after a while: every refresh token is exchanged."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from typing import Any, cast

import uvloop

from bench.talk import serve
from tests.support.ports import free_port

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_TOKENS = b'{"access_token":"at-%d","refresh_token":"rt-%d","token_type":"Bearer","expires_in":3600}'
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
_numbers = itertools.count()
_pause = [0.0]


class Connection(asyncio.Protocol):
    buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or len(body) < int(length[1] if length else 0):
            return
        self.buffer = b""
        number = next(_numbers)
        tokens = _TOKENS % (number, number)
        LOOP.call_later(_pause[0], self.transport.write, _HEAD % len(tokens) + tokens)


LOOP, PORT = uvloop.new_event_loop(), free_port()


def pause(seconds: float) -> None:
    """How long every answer takes from now on."""
    _pause[0] = seconds


async def _listen() -> Any:
    return await LOOP.create_server(Connection, "127.0.0.1", PORT, backlog=1024)


if __name__ == "__main__":
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(_listen(), LOOP).result()
    serve(pause=pause, port=lambda: PORT)
