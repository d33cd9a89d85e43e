"""The dialer against peers that drip, stall or never end (T92)."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from elicit_flows import http
from elicit_flows.http import client
from tests.doubles.policy import loopback_allowed
from tests.doubles.raw import Listener, answering, dripping, listening
from tests.doubles.sending import Send
from tests.support.machine import within


@pytest.fixture(autouse=True)
def loopback() -> Iterator[None]:
    with loopback_allowed():
        yield


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(dripping(b"HTTP/1.1 200 ", b"O", 0.02), id="status line"),
        pytest.param(dripping(HEAD, b"X", 0.02), id="headers"),
        pytest.param(dripping(HEAD + b"Content-Length: 60000\r\n\r\n", b"x", 0.02), id="body"),
        pytest.param(dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.02), id="chunks"),
        pytest.param(dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02), id="interim replies"),
        pytest.param(dripping(b"", b"", 0.02), id="silence"),
    ],
)
def test_t92_whatever_drips_is_cut_at_the_deadline(send: Send, script: object) -> None:
    with listening(script) as peer:  # type: ignore[arg-type]
        began = time.monotonic()
        with pytest.raises(http.Unreachable) as caught:
            send("GET", peer.url, deadline=0.5)
        assert 0.45 < time.monotonic() - began < within(1.5)
    assert caught.value.sent


def test_t92_a_handshake_that_never_comes_is_cut_at_the_deadline(send: Send) -> None:
    with listening(dripping(b"", b"", 0.05)) as peer:
        began = time.monotonic()
        with pytest.raises(http.Unreachable) as caught:
            send("GET", peer.url.replace("http:", "https:"), deadline=0.5)
        assert 0.45 < time.monotonic() - began < within(1.5)
    assert not caught.value.sent


def test_t92_a_name_server_that_never_answers_is_cut_at_the_deadline(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def hang(host: str, port: int) -> list[str]:
        release.wait(10)
        return []

    monkeypatch.setattr(client, "resolver", hang)
    began = time.monotonic()
    with pytest.raises(http.Unreachable) as caught:
        send("GET", "http://slow.localhost:8000/", deadline=0.3)
    release.set()
    assert time.monotonic() - began < within(1.5)
    assert not caught.value.sent


@pytest.mark.slow
def test_t92_a_peer_that_does_not_read_is_cut_at_the_deadline(send: Send) -> None:
    def deaf(listener: Listener, connection: socket.socket) -> None:
        listener.over.wait(10)

    with listening(deaf) as peer, pytest.raises(http.Unreachable) as caught:
        send("POST", peer.url, body=b"x" * 20_000_000, deadline=2)  # enough to connect on a busy machine
    assert caught.value.sent


def test_t92_a_loop_that_was_busy_beyond_the_deadline_leaves_no_connection_open() -> None:
    ended = threading.Event()

    def hears(listener: Listener, connection: socket.socket) -> None:
        if not connection.recv(1):
            ended.set()

    async def late(url: str) -> http.Unreachable:
        sender = http.AsyncClient()
        asyncio.get_running_loop().call_soon(time.sleep, 0.6)  # the connection is made meanwhile
        try:
            with pytest.raises(http.Unreachable) as caught:
                await sender.send("GET", url, deadline=0.3)
        finally:
            sender.close()
        return caught.value

    with listening(hears) as peer:
        error = asyncio.run(late(peer.url))
        assert ended.wait(within(5)), "closed at once, and not when the error is forgotten"
    assert not error.sent


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (HEAD + b"Content-Length: 100000000\r\n\r\n", b"x" * 8192),
        (HEAD + b"Connection: close\r\n\r\n", b"x" * 8192),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 4000 + b"\r\nx\r\n"),
        (HEAD, b"X-Filler: " + b"x" * 1000 + b"\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: " + b"x" * 1000 + b"\r\n\r\n"),
    ],
    ids=["length", "until close", "chunks", "chunk extensions", "headers", "interim replies"],
)
def test_t92_what_does_not_end_is_given_up_early(send: Send, head: bytes, drop: bytes) -> None:
    with listening(dripping(head, drop, 0.0005)) as peer, pytest.raises(http.Unreachable, match="too large"):
        send("GET", peer.url, deadline=10, limit=65536)


def test_the_limit_is_exact(send: Send) -> None:
    for size, fits in ((1000, True), (1001, False)):
        body = HEAD + f"Content-Length: {size}\r\n\r\n".encode() + b"x" * size
        with listening(answering(body)) as peer:
            if fits:
                assert len(send("GET", peer.url, limit=1000).body) == 1000
            else:
                with pytest.raises(http.Unreachable):
                    send("GET", peer.url, limit=1000)
