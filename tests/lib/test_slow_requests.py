"""Requests that never finish arriving, or whose head has no end, are ended: by the protocol and the pooled front."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from elicit_flows.lib import http_server, wsgi_bridge
from elicit_flows.lib.thread_pools import ThreadPool
from elicit_flows.lib.wsgi_bridge import read_body


def ok(environ: dict[str, object], start_response: object) -> list[bytes]:
    start_response("200 OK", [("content-length", "2")])  # type: ignore[operator]
    return [b"ok"]


async def app(scope: wsgi_bridge.Scope, receive: wsgi_bridge.Receive, send: wsgi_bridge.Send) -> None:
    front = wsgi_bridge.WsgiBridge(ok, max_body=100, scheme="http")
    pool = ThreadPool("test", threads=1, share=1, outside=False)
    try:
        await front(scope, receive, send, pool=pool, key="")
    except wsgi_bridge.BodyTooSlow:
        await wsgi_bridge.respond(send, 408, [], b"slow")


@asynccontextmanager
async def serving() -> AsyncIterator[int]:
    config = uvicorn.Config(
        app, port=0, http=http_server.LimitedHeadProtocol, lifespan="off", log_level="error", ws="none"
    )
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
    monkeypatch.setattr(http_server, "HEADER_SECONDS", 0.3)
    assert asyncio.run(ask(b"GET / HTTP/1.1\r\n", b"host: x\r\n")) == b""


def test_t71_a_connection_that_asks_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEADER_SECONDS", 0.3)
    assert asyncio.run(ask()) == b""


def test_t71_a_body_that_drips_is_answered_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsgi_bridge, "BODY_SECONDS", 0.3)
    answer = asyncio.run(ask(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\nconnection: close\r\n\r\n", b"ab"))
    assert answer.startswith(b"HTTP/1.1 408")


def test_a_quick_request_is_answered_and_the_next_on_the_same_connection_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEADER_SECONDS", 0.5)
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    answer = asyncio.run(ask(request, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", pause=0.3))
    assert answer.count(b"200 OK") == 2


HEAD = http_server.HEAD_BYTES
PIECE = http_server.PIECE
FIRST = b"GET / HTTP/1.1\r\nhost: x\r\n"
LAST = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
ENDLESS = {
    "a header's value": FIRST + b"a: " + b"v" * 2 * HEAD,
    "a header's name": FIRST + b"n" * 2 * HEAD,
    "many headers": FIRST + b"a: b\r\n" * (HEAD // 3),
    "the path": b"GET /" + b"p" * 2 * HEAD,
    "the method": b"G" * 2 * HEAD,
    "a head that ends": FIRST + b"a: " + b"v" * (HEAD + PIECE) + b"\r\n\r\n",
}
CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDLESS)
def test_t123_a_head_beyond_64_kilobytes_is_refused(what: str) -> None:
    answer = asyncio.run(ask(ENDLESS[what], pause=0.2))
    if what == "the method":  # no method of HTTP is that long: the parser says so first
        assert answer.startswith(b"HTTP/1.1 400")
        return
    assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer


def test_t123_the_second_request_of_a_connection_is_counted_for_itself() -> None:
    endless = FIRST + b"a: " + b"v" * 2 * HEAD
    apart = asyncio.run(ask(FIRST + b"\r\n", endless, pause=0.2))
    assert [one[:3] for one in apart.split(b"HTTP/1.1 ")] == [b"", b"200", b"431"]
    pipelined = asyncio.run(ask(FIRST + b"\r\n" + endless))
    assert [one[:3] for one in pipelined.split(b"HTTP/1.1 ")] == [b"", b"200"], "the first is answered, then no more"


def test_t123_a_head_that_trickles_is_counted_too() -> None:
    pieces = [FIRST + b"a: "] + [b"v" * 1000] * (HEAD // 1000 + 1)
    assert asyncio.run(ask(*pieces)).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("what", ["a trailer", "a chunk's extension"])
def test_t123_what_stands_around_a_chunked_body_is_counted_too(what: str) -> None:
    endless = b"0\r\na: " if what == "a trailer" else b"1;"
    assert asyncio.run(ask(CHUNKED + endless + b"v" * 2 * HEAD)).startswith(b"HTTP/1.1 431")


@pytest.mark.slow
def test_t123_bodies_and_earlier_requests_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    long = FIRST + b"a: " + b"v" * (HEAD - 100) + b"\r\n\r\n"
    answer = asyncio.run(ask(long, long, long, LAST, pause=0.2))
    assert answer.count(b"200 OK") == 4
    monkeypatch.setattr(wsgi_bridge, "read_body", _read_all)
    body = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (3 * HEAD) + b"b" * 3 * HEAD
    chunks = CHUNKED + b"1\r\na\r\n" * HEAD + b"0\r\n\r\n"
    assert asyncio.run(ask(body, chunks, LAST, pause=0.3)).count(b"200 OK") == 3


async def _read_all(scope: wsgi_bridge.Scope, receive: wsgi_bridge.Receive, limit: int) -> bytes:
    return await read_body(scope, receive, 1_000_000)


def test_t123_a_megabyte_of_header_costs_next_to_nothing() -> None:
    async def spent() -> float:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            began = time.process_time()
            writer.write(FIRST + b"a: " + b"v" * 30_000_000)
            assert (await reader.readline()).startswith(b"HTTP/1.1 431")
            writer.close()
            return time.process_time() - began

    assert asyncio.run(spent()) < 1


@pytest.mark.parametrize("path", [b"/", b"/anything"])
def test_t138_an_upgrade_is_answered_as_if_it_had_not_been_asked_for(
    path: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    upgrade = b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAA\r\n"
    with caplog.at_level(logging.INFO):
        answer = asyncio.run(ask(b"GET " + path + b" HTTP/1.1\r\nhost: x\r\n" + upgrade + b"\r\n", b"more", pause=0.2))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
