"""Requests that never finish arriving are ended: headers by the protocol, bodies by the pooled front."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from elicit_flows.lib import headers_in_time, pooled


def ok(environ: dict[str, object], start_response: object) -> list[bytes]:
    start_response("200 OK", [("content-length", "2")])  # type: ignore[operator]
    return [b"ok"]


async def app(scope: pooled.Scope, receive: pooled.Receive, send: pooled.Send) -> None:
    front = pooled.Pooled(ok, threads=1, max_body=100, scheme="http", name="test")
    try:
        await front(scope, receive, send)
    except pooled.BodyTooSlow:
        await pooled.respond(send, 408, [], b"slow")


@asynccontextmanager
async def serving() -> AsyncIterator[int]:
    config = uvicorn.Config(app, port=0, http=headers_in_time.HeadersInTime, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def ask(*pieces: bytes, pause: float = 0.0) -> bytes:
    """What comes back for these pieces, sent with a pause between them, until the server is silent or hangs up."""
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        try:
            return await asyncio.wait_for(reader.read(), 2)
        finally:
            writer.close()


def test_t71_headers_that_drip_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers_in_time, "HEADER_SECONDS", 0.3)
    assert asyncio.run(ask(b"GET / HTTP/1.1\r\n", b"host: x\r\n")) == b""


def test_t71_a_connection_that_asks_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers_in_time, "HEADER_SECONDS", 0.3)
    assert asyncio.run(ask()) == b""


def test_t71_a_body_that_drips_is_answered_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooled, "BODY_SECONDS", 0.3)
    answer = asyncio.run(ask(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\nconnection: close\r\n\r\n", b"ab"))
    assert answer.startswith(b"HTTP/1.1 408")


def test_a_quick_request_is_answered_and_the_next_on_the_same_connection_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers_in_time, "HEADER_SECONDS", 0.5)
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    answer = asyncio.run(ask(request, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", pause=0.3))
    assert answer.count(b"200 OK") == 2
