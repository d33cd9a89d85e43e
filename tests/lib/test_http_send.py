"""The dialer against real sockets: where it connects, when it stops, what it says about it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from elicit_flows import http
from elicit_flows.http import async_client, client, destinations
from tests.doubles.certificate import self_signed
from tests.doubles.policy import dialing, loopback_allowed
from tests.doubles.raw import Listener, answering, dripping, listening
from tests.doubles.sending import Send, from_a_loop

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-One: a\r\nx-one: b\r\n\r\nok"


@pytest.fixture(autouse=True)
def loopback() -> Iterator[None]:
    with loopback_allowed():
        yield


def test_a_reply_has_status_folded_headers_and_body(send: Send) -> None:
    with listening(answering(OK)) as peer:
        reply = send("POST", f"{peer.url}hook?a=1", headers={"X-Mine": "yes"}, body=b"{}")
    assert (reply.status, reply.headers["x-one"], reply.body) == (200, "a, b", b"ok")
    head, _, body = peer.heard[0].partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert lines[0] == b"post /hook?a=1 http/1.1"
    assert {f"host: localhost:{peer.port}".encode(), b"accept-encoding: identity", b"x-mine: yes"} <= set(lines)
    assert b"content-length: 2" in lines
    assert body == b"{}"


def test_connections_are_kept_and_used_again(send: Send) -> None:
    with listening(answering(OK)) as peer:
        for _ in range(5):
            send("GET", peer.url)
    assert (peer.connections, len(peer.heard)) == (1, 5)


def test_a_connection_that_the_other_side_closed_is_replaced() -> None:
    def once(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        connection.sendall(OK)

    with listening(once) as peer:
        for number in range(1, 4):
            assert http.send("GET", peer.url).status == 200
            wait_until(idle_is_closed)
            assert peer.connections == number


def test_many_threads_share_the_pool_and_keep_their_own_deadlines(send: Send) -> None:
    slow = dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x", 0.02)
    with listening(answering(OK)) as quick, listening(slow) as never, ThreadPoolExecutor(8) as threads:
        late = [threads.submit(send, "GET", never.url, deadline=0.3) for _ in range(3)]
        good = [threads.submit(send, "GET", quick.url) for _ in range(40)]
        assert {each.result().status for each in good} == {200}
        assert all(isinstance(each.exception(), http.Unreachable) for each in late)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_t31_t91_no_redirect_is_followed(send: Send, status: int) -> None:
    with listening(answering(OK)) as sink:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: {sink.url}\r\nContent-Length: 0\r\n\r\n".encode()
        with listening(answering(moved)) as peer:
            reply = send("POST", peer.url, headers={"Authorization": "Basic c2VjcmV0"}, body=b"code=secret")
    assert reply.status == status
    assert sink.connections == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "64:ff9b::7f00:1", "fec0::1"])
def test_t36_t89_a_public_name_that_leads_inside_is_refused(
    send: Send, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    with listening(answering(OK)) as sink:
        monkeypatch.setattr(destinations, "PORTS", frozenset({sink.port}))
        monkeypatch.setattr(client, "resolver", lambda host, port: ["93.184.216.34", address])
        with pytest.raises(http.Refused):
            send("GET", f"https://provider.example.com:{sink.port}/")
        assert sink.connections == 0


@pytest.mark.reaches_out  # the first answer is a public address, so it is dialled
def test_t90_a_name_that_changes_to_loopback_is_refused(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, dialled = iter([["93.184.216.34"], ["127.0.0.1"]]), []

    def unanswered(found: list[str], port: int, call: client.Call) -> socket.socket:
        dialled.extend(found)
        raise http.Unreachable("No connection could be made.")

    monkeypatch.setattr(client, "resolver", lambda host, port: next(answers))
    with listening(answering(OK)) as sink:
        monkeypatch.setattr(destinations, "PORTS", frozenset({sink.port}))
        monkeypatch.setattr(client, "_dial", unanswered)
        url = f"https://rebind.example.com:{sink.port}/"
        with pytest.raises(http.Unreachable):
            send("GET", url)
        monkeypatch.undo()
        monkeypatch.setattr(client, "resolver", lambda host, port: next(answers))
        monkeypatch.setattr(destinations, "PORTS", frozenset({sink.port}))
        with pytest.raises(http.Refused):
            send("GET", url)
        assert sink.connections == 0
    assert dialled == ["93.184.216.34"]


def test_t90_the_name_is_resolved_once_and_that_address_is_dialled(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def flip(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.9"]

    monkeypatch.setattr(client, "resolver", flip)
    with listening(answering(OK)) as peer:
        assert send("GET", f"http://flip.localhost:{peer.port}/").status == 200
    assert asked == ["flip.localhost"]


def test_t90_a_loopback_name_may_not_lead_elsewhere(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "resolver", lambda host, port: ["192.168.0.1"])
    with pytest.raises(http.Refused):
        send("GET", "http://localhost:8000/")


def test_t90_a_connection_that_ends_up_elsewhere_is_refused() -> None:
    """Linux takes 0.0.0.0 for this machine: the address that answers is not the one that was dialled."""
    with listening(answering(OK)) as peer, pytest.raises(http.Refused):
        client._dial(["0.0.0.0"], peer.port, client.Call(time.monotonic() + 1.0, 0)).close()
    assert peer.heard == []


def test_the_next_address_is_tried_when_one_does_not_answer(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "resolver", lambda host, port: ["127.0.0.9", "127.0.0.1"])
    with listening(answering(OK)) as peer:
        assert send("GET", f"http://two.localhost:{peer.port}/").status == 200


def test_t88_the_strict_policy_dials_no_loopback(send: Send) -> None:
    with listening(answering(OK)) as sink, dialing(http.Policy()):
        with pytest.raises(http.Refused):
            send("GET", sink.url)
        assert sink.connections == 0


HEAD = b"HTTP/1.1 200 OK\r\n"


def test_a_reset_after_the_request_says_that_it_was_sent(send: Send) -> None:
    def reset(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")

    with listening(reset) as peer, pytest.raises(http.Unreachable) as caught:
        send("POST", peer.url, body=b"code=1")
    assert caught.value.sent


def test_a_closed_port_says_that_nothing_was_sent(send: Send) -> None:
    with listening(answering(OK)) as peer:
        url = peer.url
    with pytest.raises(http.Unreachable) as caught:
        send("POST", url, body=b"code=1")
    assert not caught.value.sent


def test_something_that_is_not_http_is_unreachable(send: Send) -> None:
    with listening(answering(b"SSH-2.0-OpenSSH\r\n\r\n")) as peer, pytest.raises(http.Unreachable):
        send("GET", peer.url)


def test_a_header_that_would_break_out_is_refused_and_nothing_is_sent(send: Send) -> None:
    with listening(answering(OK)) as peer:
        for value in ("a\r\nX-Evil: 1", "a\nb", "a\x00", "\u20ac"):
            with pytest.raises(http.Refused):
                send("GET", peer.url, headers={"Authorization": value})
        assert peer.heard == []


def test_no_proxy_from_the_environment_and_no_cookie_is_used(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = HEAD + b"Set-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"
    with listening(answering(OK)) as proxy, listening(answering(cookie)) as peer:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        send("GET", peer.url)
        send("GET", peer.url)
        assert proxy.connections == 0
    assert len(peer.heard) == 2
    assert b"cookie" not in peer.heard[1].lower()


def test_t87_response_headers_stay_out_of_the_debug_log(send: Send, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = HEAD + b"Location: https://x.example/?code=canary\r\nContent-Length: 0\r\n\r\n"
    with listening(answering(secret)) as peer:
        send("GET", f"{peer.url}?code=canary", headers={"Authorization": "Bearer canary"})
    assert "canary" not in caplog.text


def test_the_certificate_must_be_trusted_and_name_the_host(
    send: Send, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    good, pem = self_signed(tmp_path, "localhost")
    good.sni_callback = lambda sock, name, context: names.append(name or "")
    other, other_pem = self_signed(tmp_path, "provider.example.com")
    with listening(answering(OK), good) as peer, listening(answering(OK), other) as wrong:
        with pytest.raises(http.Unreachable) as caught:
            send("GET", peer.url)
        assert not caught.value.sent
        monkeypatch.setattr(client, "pool", client.Pool())
        client.pool.tls = ssl.create_default_context()  # tests share the other one
        client.pool.renew()
        client.pool.trust(pem)
        client.pool.trust(other_pem)
        assert send("GET", peer.url).body == b"ok"
        with pytest.raises(http.Unreachable):
            send("GET", wrong.url)
        client.pool.close()
    assert names == ["localhost", "localhost"]
    assert wrong.heard == []


def test_an_answer_over_tls_that_is_cut_off_is_none(
    send: Send, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS has an end of its own, which somebody on the network cannot send: without it, a body may go on."""

    def serve(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        connection.sendall(HEAD + b"Content-Type: application/x-www-form-urlencoded\r\n\r\naccess_token=abc")
        if whole.pop():
            connection.unwrap()  # type: ignore[attr-defined]

    context, pem = self_signed(tmp_path, "localhost")
    monkeypatch.setattr(client, "pool", client.Pool())
    client.pool.tls = ssl.create_default_context()
    client.pool.renew()
    client.pool.trust(pem)
    whole = [True, False]
    with listening(serve, context) as peer:
        with pytest.raises(http.Unreachable):
            send("GET", peer.url)
        assert send("GET", peer.url).body == b"access_token=abc"
    client.pool.close()


def test_a_forked_child_does_not_use_its_parents_connections() -> None:
    with listening(answering(OK)) as peer:
        http.send("GET", peer.url)
        child = os.fork()
        if child == 0:
            os._exit(len(client.pool.connections.connections))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(client.pool.connections.connections) == 1


def idle_is_closed() -> bool:
    return all(connection.has_expired() for connection in client.pool.connections.connections)


def wait_until(true: object, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


def test_a_loop_uses_no_connection_that_was_made_under_another_policy() -> None:
    with listening(answering(OK)) as peer, from_a_loop() as send:
        send("GET", peer.url)
        send("GET", peer.url)
        assert peer.connections == 1
        http.configure(http.Policy(allow_loopback=True, own_hosts=frozenset({"flows.example.com"})))
        send("GET", peer.url)
        assert peer.connections == 2


def test_a_loop_keeps_no_connection_on_which_more_comes_than_was_asked_for() -> None:
    with listening(answering(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as peer, from_a_loop() as send:
        for number in range(1, 4):
            assert send("GET", peer.url).body == b"ok"
            assert peer.connections == number


def test_a_loop_replaces_a_connection_that_the_other_side_closed() -> None:
    def once(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        connection.sendall(OK)

    async def twice(url: str) -> None:
        client = http.AsyncClient()
        async with asyncio.timeout(20):
            for _ in range(2):
                assert (await client.send("GET", url)).status == 200
                while any(one.alive for kept in client._idle.values() for one in kept):
                    await asyncio.sleep(0.005)
        client.close()

    with listening(once) as peer:
        asyncio.run(twice(peer.url))
        assert peer.connections == 2


def test_a_loop_reads_a_reply_that_ends_with_its_connection_and_none_that_is_cut_short() -> None:
    def script(head: bytes) -> Callable[[Listener, socket.socket], None]:
        def once(listener: Listener, connection: socket.socket) -> None:
            listener.request(connection)
            connection.sendall(head + b"\r\n\r\nhalf")

        return once

    with listening(script(HEAD + b"X: y")) as peer, from_a_loop() as send:
        assert send("GET", peer.url).body == b"half"
    with listening(script(HEAD + b"Content-Length: 9")) as peer, from_a_loop() as send:
        with pytest.raises(http.Unreachable) as caught:
            send("GET", peer.url)
        assert caught.value.sent


@pytest.mark.slow
def test_a_loop_sends_many_at_once_and_one_that_hangs_delays_no_other() -> None:
    slow = dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x", 0.02)
    with listening(answering(OK)) as quick, listening(slow) as never, from_a_loop() as send, ThreadPoolExecutor(8) as t:
        late = [t.submit(send, "GET", never.url, deadline=5) for _ in range(3)]
        good = [t.submit(send, "GET", quick.url) for _ in range(40)]
        assert {each.result().status for each in good} == {200}
        assert not any(each.done() for each in late)
        assert all(isinstance(each.exception(), http.Unreachable) for each in late)


def test_a_loop_keeps_no_more_connections_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    async def several(client: http.AsyncClient, url: str) -> int:
        await asyncio.gather(*(client.send("GET", url) for _ in range(5)))
        kept = sum(map(len, client._idle.values()))
        client.close()
        await asyncio.sleep(0)
        return kept

    async def kept(url: str) -> int:
        return await several(http.AsyncClient(), url)

    with listening(answering(OK)) as peer:
        assert asyncio.run(kept(peer.url)) == 5
        monkeypatch.setattr(async_client, "IDLE_OF_ONE", 2)
        assert asyncio.run(kept(peer.url)) == 2
        monkeypatch.setattr(async_client, "IDLE_IN_ALL", 1)
        assert asyncio.run(kept(peer.url)) == 1
