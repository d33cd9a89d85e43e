"""Both bodies pass piece by piece, within limits; a call that breaks off breaks off on both sides."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import httpx2
import pytest
from django.conf import LazySettings

from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.raw import Listener, answering, listening
from tests.proxied.test_leaks import moved_to
from tests.support.process import until
from tests.support.rows import Known
from tests.support.serving import Served

At = Callable[[str], str]


@contextmanager
def scripted(drive: ProviderRow, script: Callable[[Listener, socket.socket], None]) -> Iterator[Listener]:
    with listening(script) as listener:
        moved_to(listener, drive)
        yield listener


def test_an_answer_is_passed_on_while_it_arrives(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection
) -> None:
    go_on = threading.Event()

    def script(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"5\r\nfirst\r\n")
        go_on.wait(60)
        connection.sendall(b"6\r\nsecond\r\n0\r\n\r\n")

    with scripted(drive, script), agent.stream("GET", at("/events")) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"first"
        go_on.set()
        assert b"".join(pieces) == b"second"


def test_a_large_body_is_passed_on_while_it_arrives(
    served: Served, known: Known, drive: ProviderRow, held: Connection
) -> None:
    """The API has the first pieces before the agent has sent the last."""
    heard = bytearray()

    def script(listener: Listener, connection: socket.socket) -> None:
        while not heard.endswith(b"end") and not heard.endswith(b"0\r\n\r\n"):
            heard.extend(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")

    size, address = 1_000_000, urlsplit(served.url)
    with scripted(drive, script), socket.create_connection((address.hostname, address.port), 10) as sock:
        head = (
            f"PUT /v1/connections/{held.pk}/proxy/files/big HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"Authorization: Bearer {known.who.api_key}\r\nContent-Length: {size + 3}\r\n\r\n"
        )
        sock.sendall(head.encode() + b"x" * size)
        until(lambda: len(heard) >= size, "the API has the first pieces")
        sock.sendall(b"end")
        sock.settimeout(30)
        assert sock.recv(65536).startswith(b"HTTP/1.1 201")
    assert b"content-length: 1000003\r\n" in heard
    assert heard.endswith(b"x" * size + b"end")


def test_a_large_chunked_body_arrives_whole(agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection) -> None:
    heard = bytearray()

    def script(listener: Listener, connection: socket.socket) -> None:
        while not heard.endswith(b"0\r\n\r\n"):
            heard.extend(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with scripted(drive, script):
        assert agent.post(at("/files"), content=iter([b"x" * 50_000] * 8)).text == "ok"
    assert b"transfer-encoding: chunked\r\n" in heard
    assert heard.count(b"x") >= 400_000


def test_an_answer_that_is_broken_off_is_not_taken_for_all(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection
) -> None:
    for head in (b"Content-Length: 10", b"Transfer-Encoding: chunked"):

        def script(listener: Listener, connection: socket.socket, head: bytes = head) -> None:
            listener.request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n5\r\nfirst\r\n"[: None if b"T" in head else 9])

        with scripted(drive, script), pytest.raises(httpx2.TransportError):
            agent.get(at("/files"))


@pytest.fixture
def small(settings: LazySettings) -> None:
    settings.ELICIT_PROXIED_MAX_BODY = 1000


def test_t166_too_large_a_body_is_refused_and_not_sent(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection, small: None
) -> None:
    with scripted(drive, answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as listener:
        for content in (b"x" * 1001, iter([b"x" * 1001])):
            answer = agent.post(at("/files"), content=content)
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert not listener.heard
        assert agent.post(at("/files"), content=b"x" * 1000).status_code == 200


def test_t166_too_large_an_answer_is_refused_or_broken_off(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection, small: None
) -> None:
    with scripted(drive, answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001)):
        answer = agent.get(at("/files"))
        assert (answer.status_code, answer.json()["code"]) == (502, "provider_broken")
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    script = answering(chunked + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n")
    with scripted(drive, script), suppress(httpx2.TransportError):  # if the answer had begun
        assert agent.get(at("/files")).status_code == 502


def test_an_api_that_says_nothing_is_not_waited_for_without_end(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection, settings: LazySettings
) -> None:
    settings.ELICIT_PROXIED_SILENCE = 1

    def script(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        listener.over.wait(60)

    with scripted(drive, script):
        answer = agent.get(at("/files"))
    assert (answer.status_code, answer.json()["code"]) == (502, "provider_broken")
    assert "too long" in answer.json()["detail"]


def test_an_agent_that_leaves_ends_the_call(served: Served, known: Known, drive: ProviderRow, held: Connection) -> None:
    gone = threading.Event()

    def script(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        if not connection.recv(1):
            gone.set()

    with scripted(drive, script) as listener:
        with socket.create_connection((urlsplit(served.url).hostname, urlsplit(served.url).port), 10) as sock:
            head = f"GET /v1/connections/{held.pk}/proxy/x HTTP/1.1\r\nHost: {urlsplit(served.url).netloc}\r\n"
            sock.sendall(f"{head}Authorization: Bearer {known.who.api_key}\r\n\r\n".encode())
            until(lambda: bool(listener.heard), "the API has the request")
        assert gone.wait(60)
    until(lambda: served.service._api_proxy.admission.waiting == 0, "no call is under way")


def test_a_kept_connection_that_was_closed_meanwhile_is_no_error(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection
) -> None:
    def script(listener: Listener, connection: socket.socket) -> None:
        if listener.request(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        listener.request(connection)  # and hang up without an answer

    with scripted(drive, script) as listener:
        assert [agent.get(at("/me")).text for _ in range(3)] == ["ok"] * 3
        assert listener.connections == 3


@pytest.mark.slow
def test_a_slow_reader_stops_the_api_and_not_the_service(
    served: Served, known: Known, drive: ProviderRow, held: Connection, settings: LazySettings
) -> None:
    """Of 400 MB that nobody reads, the service takes no more than it may hold. The sockets on the way may hold up to
    40 MB, as the machine is set up.
    """
    settings.ELICIT_PROXIED_MAX_BODY = 500_000_000
    sent = [0]

    def script(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 400000000\r\n\r\n")
        connection.settimeout(3)
        try:
            while sent[0] < 400_000_000:
                sent[0] += connection.send(b"x" * 65536)
        except TimeoutError:
            pass

    address = urlsplit(served.url)
    with scripted(drive, script), socket.create_connection((address.hostname, address.port), 10) as sock:
        head = f"GET /v1/connections/{held.pk}/proxy/x HTTP/1.1\r\nHost: {address.netloc}\r\n"
        sock.sendall(f"{head}Authorization: Bearer {known.who.api_key}\r\n\r\n".encode())
        before = -1
        while sent[0] != before or not sent[0]:
            before = sent[0]
            time.sleep(1)
    assert 1_000_000 < sent[0] < 100_000_000
