"""Requests that leave through a proxy: what it is asked, what is judged before, and what it may not do."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elicit_flows import http
from elicit_flows.http import client
from elicit_flows.lib import egress_proxy, networks
from tests.doubles.certificate import self_signed
from tests.doubles.connect_proxy import Proxy, ended, proxying
from tests.doubles.policy import dialing
from tests.doubles.raw import Listener, answering, dripping, listening
from tests.doubles.sending import Send
from tests.support.machine import within

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HOST = "provider.example.com"
URL = f"https://{HOST}/token"


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """Answers with a certificate that is trusted."""
    context, pem = self_signed(tmp_path, HOST)
    monkeypatch.setattr(client, "pool", client.Pool())
    client.pool.tls = ssl.create_default_context(cafile=pem)
    client.pool.renew()
    with listening(answering(OK), context) as peer:
        yield peer
    client.pool.close()


def through(proxy: Proxy, *, user: str = "", allowed: str = "", loopback: bool = False) -> http.Policy:
    return http.Policy(
        allow_loopback=loopback,
        networks=networks.read(allowed),
        proxy=egress_proxy.read(f"http://{user}{'@' if user else ''}127.0.0.1:{proxy.port}"),
    )


def nobody(host: str, port: int) -> list[str]:
    raise AssertionError(f"{host} was looked up")


def test_a_request_leaves_through_the_proxy_which_sees_the_name_and_no_more(
    send: Send, provider: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "resolver", nobody)
    with proxying(f"{HOST}:443=127.0.0.1:{provider.port}") as proxy, dialing(through(proxy)):
        for _ in range(3):
            assert send("POST", URL, headers={"Authorization": "Bearer canary"}, body=b"code=canary").body == b"ok"
        assert ended(proxy, 1) == [f"CONNECT {HOST}:443 HTTP/1.1"], "one tunnel for all of them"
    assert "canary" not in str(proxy.heard)
    assert len(provider.heard) == 3
    assert provider.heard[0].startswith(b"POST /token HTTP/1.1")


def test_the_proxys_own_password_goes_to_the_proxy_alone(send: Send, provider: Listener) -> None:
    known = f"{HOST}:443=127.0.0.1:{provider.port}"
    with proxying(known, password="svc:p@ss") as proxy:
        with dialing(through(proxy)), pytest.raises(http.Unreachable, match="answered 407"):
            send("GET", URL)
        with dialing(through(proxy, user="svc:p%40ss")):
            assert send("GET", URL).status == 200
            assert "c3ZjOnBAc3M=" in proxy.heard[1]
            assert "p@ss" not in str(http.policy())
            assert "c3ZjOnBAc3M=" not in repr(http.policy())
    assert b"proxy-authorization" not in provider.heard[0].lower()


@pytest.mark.parametrize(
    "url",
    ["https://10.20.0.7/", "https://169.254.169.254/", "https://[fd00:ec2::254]/", "https://127.0.0.1/",
     "https://keycloak.corp.internal/", "https://intranet/", f"https://{HOST}:22/", f"http://{HOST}/"],
)  # fmt: skip
def test_t88_t89_what_is_refused_without_a_proxy_is_not_asked_of_it(send: Send, url: str) -> None:
    with proxying() as proxy, dialing(through(proxy)):
        with pytest.raises(http.Refused):
            send("GET", url)
        assert proxy.heard == []


@pytest.mark.parametrize("leads_to", ["10.21.0.7", "169.254.169.254", "127.0.0.1"])
def test_t89_a_name_that_is_known_here_to_lead_inside_is_not_asked_of_the_proxy(
    send: Send, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    """Where networks are allowed, names are looked up here first."""
    monkeypatch.setattr(client, "resolver", lambda host, port: [leads_to])
    with proxying() as proxy, dialing(through(proxy, allowed="10.20.0.0/16")):
        with pytest.raises(http.Refused):
            send("GET", URL)
        assert proxy.heard == []


def test_t89_a_name_that_nobody_knows_here_goes_to_the_proxy_only_if_it_is_public(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "resolver", lambda host, port: [])
    with proxying() as proxy, dialing(through(proxy, allowed="10.20.0.0/16:8080,443")):
        for url in ("https://keycloak.corp.internal/", f"https://{HOST}:8080/"):
            with pytest.raises(http.Unreachable, match="could not be resolved"):
                send("GET", url)
        assert proxy.heard == []
        with pytest.raises(http.Unreachable, match="answered 502"):
            send("GET", URL)
        assert ended(proxy, 1) == [f"CONNECT {HOST}:443 HTTP/1.1"]


def test_an_allowed_network_is_called_without_the_proxy(
    send: Send, provider: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def once(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(client, "resolver", once)
    with proxying() as proxy, dialing(through(proxy, allowed=f"127.0.0.1:{provider.port}")):
        assert send("GET", f"https://{HOST}:{provider.port}/").status == 200
        assert proxy.heard == []
    assert asked == [HOST], "looked up once, and that address was dialled"


def test_this_machine_is_called_without_the_proxy_where_it_is_allowed(send: Send) -> None:
    with listening(answering(OK)) as peer, proxying() as proxy, dialing(through(proxy, loopback=True)):
        assert send("GET", peer.url).status == 200
        assert proxy.heard == []


def test_the_proxy_cannot_pretend_to_be_the_server(send: Send, tmp_path: Path, provider: Listener) -> None:
    other, _ = self_signed(tmp_path, "elsewhere.example.com")
    with listening(answering(OK), other) as wrong, proxying(f"{HOST}:443=127.0.0.1:{wrong.port}") as proxy:
        with dialing(through(proxy)), pytest.raises(http.Unreachable) as caught:
            send("POST", URL, body=b"code=1")
        assert not caught.value.sent
        assert wrong.heard == []


@pytest.mark.parametrize(
    "says",
    ["SSH-2.0-OpenSSH\\r\\n\\r\\n", "HTTP/1.1 200 OK\\r\\n\\r\\nmore", "HTTP/1.1 403 No\\r\\n\\r\\n",
     "HTTP/1.1 302 Found\\r\\nLocation: https://127.0.0.1/\\r\\n\\r\\n",
     "HTTP/1.1 200 OK\\r\\n" + "x" * 9000, "nothing"],
)  # fmt: skip
def test_what_is_no_tunnel_sends_nothing(send: Send, says: str) -> None:
    with (
        proxying(says=says) as proxy,
        dialing(through(proxy)),
        pytest.raises(http.Unreachable, match="proxy") as caught,
    ):
        send("POST", URL, body=b"code=1")
    assert not caught.value.sent


def test_t92_a_proxy_that_never_answers_is_left_at_the_deadline(send: Send) -> None:
    with listening(dripping(b"", b"", 0.05)) as deaf:
        policy = http.Policy(proxy=egress_proxy.read(f"http://127.0.0.1:{deaf.port}"))
        began = time.monotonic()
        with dialing(policy), pytest.raises(http.Unreachable, match="too long"):
            send("GET", URL, deadline=0.5)
        assert 0.45 < time.monotonic() - began < within(1.5)


def test_a_proxy_that_is_away_sends_nothing(send: Send) -> None:
    with listening(answering(OK)) as gone:
        port = gone.port
    policy = http.Policy(proxy=egress_proxy.read(f"http://127.0.0.1:{port}"))
    with dialing(policy), pytest.raises(http.Unreachable) as caught:
        send("GET", URL)
    assert not caught.value.sent


@pytest.mark.parametrize(
    "said",
    ["https://proxy:3128", "proxy:3128", "http://proxy", "http://:3128", "http://proxy:3128/path", "socks5://p:1"],
)
def test_what_is_no_proxy_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="it must"):
        egress_proxy.read(said)
