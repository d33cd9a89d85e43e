"""What passes through the proxy in either direction, and what does not."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx2
import pytest

from elicit_flows import vault
from elicit_flows.api import auth
from elicit_flows.domain.errors import TokensNeverLeave
from elicit_flows.domain.values import Secret
from elicit_flows.http import forwarding
from elicit_flows.models import Agent, Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import api_access
from tests.doubles.raw import Listener, answering, listening
from tests.doubles.server import Response
from tests.proxied.conftest import Api
from tests.support import rows
from tests.support.rows import Known
from tests.support.serving import Served

At = Callable[[str], str]
SENT = {
    "Cookie": "session=ours", "X-Forwarded-For": "10.0.0.1", "X-Forwarded-Host": "evil.example", "Forwarded": "for=x",
    "Proxy-Authorization": "Basic eDp5", "X-Real-Ip": "10.0.0.1", "X-HTTP-Method-Override": "DELETE",
    "X-Original-URL": "/admin", "X-Rewrite-URL": "/admin", "DPoP": "made-up", "Elicit-User-Token": "",
    "Connection": "keep-alive, X-Private", "X-Private": "for this connection", "TE": "trailers", "Origin": "https://x",
    "Referer": "https://x/?y", "Via": "1.1 x", "Sec-Fetch-Site": "none", "X_Forwarded_For": "10.0.0.1",
}  # fmt: skip


def test_t165_t166_what_says_who_calls_and_where_from_is_not_passed_on(
    agent: httpx2.Client, at: At, upstream: Api, token: str, known: Known
) -> None:
    passing = {"Accept": "application/json", "X-Api-Version": "7", "If-None-Match": '"x"', "User-Agent": "robot"}
    assert agent.get(at("/me"), headers=SENT | passing).status_code == 200
    seen = upstream.last.headers
    assert {name: seen[name.lower()] for name in passing} == passing
    assert seen["authorization"] == f"Bearer {token}"
    assert seen["host"] == upstream.host
    assert seen.keys() <= {"authorization", "host", "accept-encoding", *(name.lower() for name in passing)}
    assert known.who.api_key not in str(seen)


def test_t165_what_the_api_says_about_the_credential_is_not_passed_on(
    agent: httpx2.Client, at: At, upstream: Api, token: str
) -> None:
    said = {
        "Set-Cookie": "session=theirs", "X-Debug-Token": f"Bearer {token}", "X-Echo": token, "Clear-Site-Data": '"*"',
        "Access-Control-Allow-Origin": "*", "Elicit-Answered-By": "evil.example", "Alt-Svc": 'h3=":443"',
        "Content-Security-Policy": "default-src *", "X-Request-Id": "theirs", "Refresh": "0; url=https://evil.example",
        "Authentication-Info": "nextnonce=x", "Connection": "X-Private", "X-Private": "x", "Cache-Control": "public",
        "Content-Type": "text/html", "ETag": '"1"', "X-RateLimit-Remaining": "4", "Link": '</v2/x>; rel="next"',
    }  # fmt: skip
    upstream.scripted["/v2/me"] = Response(200, b"<script>", said)
    got = agent.get(at("/me")).headers
    for name in ("content-type", "etag", "x-ratelimit-remaining", "link"):
        assert got[name] == {key.lower(): value for key, value in said.items()}[name]
    for name in ("set-cookie", "x-debug-token", "x-echo", "clear-site-data", "access-control-allow-origin", "alt-svc",
                 "refresh", "authentication-info", "x-private"):  # fmt: skip
        assert name not in got
    assert got["elicit-answered-by"] == upstream.host
    assert got["content-security-policy"] == "default-src 'none'; sandbox"
    assert got["x-content-type-options"] == "nosniff"
    assert (got["cache-control"], got["x-request-id"] == "theirs") == ("no-store", False)
    assert token not in str(got)


@pytest.fixture
def kept(known: Known) -> Known:
    """An agent whose tokens never leave."""
    Agent.objects.filter(pk=known.row.pk).update(tokens_never_leave=True)
    known.row.refresh_from_db()
    return known


def test_t165_no_other_call_gives_the_token_of_an_agent_whose_tokens_never_leave(
    agent: httpx2.Client, held: Connection, kept: Known, at: At, token: str, upstream: Api
) -> None:
    assert agent.get(at("/me")).status_code == 200
    at_service = f"/v1/connections/{held.pk}"
    ways = [
        ("POST", f"{at_service}/token", {}), ("POST", f"{at_service}/token", {"json": {"min_ttl": 5}}),
        ("POST", f"{at_service}/secret", {}),
        ("POST", f"{at_service}/proof", {"json": {"method": "GET", "url": upstream.url}}),
    ]  # fmt: skip
    for method, path, body in ways:
        answer = agent.request(method, path, **body)
        assert (answer.status_code, answer.json()["code"]) == (403, "tokens_never_leave"), path
    for path in (at_service, "/v1/connections", "/v1/events?wait=0", "/v1/agent", "/v1/elicitations"):
        answer = agent.get(path)
        assert answer.status_code == 200
        assert token not in answer.text
    assert agent.get("/v1/agent").json()["tokens_never_leave"] is True


def test_t165_nor_does_the_quick_way_to_a_token_that_was_just_used(
    agent: httpx2.Client, held: Connection, known: Known, at: At
) -> None:
    assert agent.post(f"/v1/connections/{held.pk}/token").status_code == 200
    assert agent.post(f"/v1/connections/{held.pk}/token").status_code == 200
    Agent.objects.filter(pk=known.row.pk).update(tokens_never_leave=True)
    auth.remembered.clear()  # as it is a second later
    assert agent.post(f"/v1/connections/{held.pk}/token").status_code == 403


def test_t165_no_exchange_and_no_typed_secret_for_such_an_agent(kept: Known, held: Connection) -> None:
    for call in (vault.token, vault.open_credentials):
        with pytest.raises(TokensNeverLeave):
            call(kept.row, held.pk)
    with pytest.raises(TokensNeverLeave):
        vault.proof(kept.row, held.pk, "GET", "https://api.example.com/", None, None)


@pytest.mark.parametrize(
    "params",
    [
        {"fields": [{"name": "key", "label": "Key"}]},
        {"provider": "keys", "seal_to": {"kty": "EC", "crv": "P-256", "x": "0" * 43, "y": "0" * 43}},
    ],
)
def test_t165_such_an_agent_asks_for_nothing_that_only_it_could_read(
    agent: httpx2.Client, kept: Known, params: dict[str, object]
) -> None:
    fields = [{"name": "key", "label": "Key", "secret": True}]
    ProviderRow.objects.create(slug="keys", name="Keys", sort="credentials", fields=fields)
    asked = rows.question(kind="credentials", params=params)
    answer = agent.post("/v1/elicitations", json=asked)
    assert answer.status_code == 422, answer.text


def test_t165_what_a_user_typed_is_in_no_header_of_the_answer(
    agent: httpx2.Client, known: Known, upstream: Api
) -> None:
    fields = [{"name": "key", "label": "Key", "secret": True}]
    verify = {"url": f"{upstream.url}/check", "headers": {"X-Api-Key": "{key}"}}
    row = ProviderRow.objects.create(slug="keys", name="Keys", sort="credentials", fields=fields, verify=verify)
    made = vault.keep_credentials(known.row, rows.ALICE_CLAIM, row, "", {"key": Secret("s3cret-key")})
    upstream.scripted["/me"] = Response(200, b"", {"X-Echo": "you sent s3cret-key", "X-Other": "x"})
    got = agent.get(f"/v1/connections/{made.pk}/proxy/me").headers
    assert (got["x-other"], "x-echo" in got) == ("x", False)


def test_a_header_of_the_answer_like_one_that_each_request_has_is_passed_on(
    agent: httpx2.Client, known: Known, upstream: Api
) -> None:
    fields = [{"name": "key", "label": "Key", "secret": True}]
    headers = {"Accept": "application/json", "Api-Version": "2026-11-28", "X-Api-Key": "{key}"}
    verify = {"url": f"{upstream.url}/check", "headers": headers}
    row = ProviderRow.objects.create(slug="keys", name="Keys", sort="credentials", fields=fields, verify=verify)
    made = vault.keep_credentials(known.row, rows.ALICE_CLAIM, row, "", {"key": Secret("s3cret-key")})
    said = {"Content-Type": "application/json; charset=utf-8", "Api-Version-Selected": "2026-11-28"}
    upstream.scripted["/me"] = Response(200, b"{}", said)
    got = agent.get(f"/v1/connections/{made.pk}/proxy/me").headers
    assert {name: got.get(name) for name in said} == said


def test_t165_no_spelling_of_the_credential_is_in_a_header_of_the_answer(
    agent: httpx2.Client, known: Known, upstream: Api
) -> None:
    """As in the address of the next page, and without the scheme before it."""
    verify = {"url": f"{upstream.url}/check", "basic": ["name", "key"]}
    fields = [{"name": name, "label": name} for name in ("name", "key")]
    row = ProviderRow.objects.create(slug="pairs", name="Pairs", sort="credentials", fields=fields, verify=verify)
    typed = {"name": Secret("acme-desk"), "key": Secret("s3cret/key+1")}
    made = vault.keep_credentials(known.row, rows.ALICE_CLAIM, row, "", typed)
    pair = base64.b64encode(b"acme-desk:s3cret/key+1").decode()
    said = {"Link": '</me?key=s3cret%2Fkey%2B1>; rel="next"', "X-Pair": pair, "X-Other": "100%25"}
    upstream.scripted["/me"] = Response(302, b"", said | {"Location": "/me?key=s3cret%2fkey%2b1"})
    got = agent.get(f"/v1/connections/{made.pk}/proxy/me").headers
    assert (got["x-other"], {"link", "x-pair", "location"} & set(got)) == ("100%25", set())


def exchange(served: Served, known: Known, held: Connection, head: str, body: bytes = b"") -> bytes:
    """What comes back for a request whose bytes are as they are."""
    address = urlsplit(served.url)
    with socket.create_connection((address.hostname, address.port), 10) as sock:
        begin = (
            f"POST /v1/connections/{held.pk}/proxy/files HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"Authorization: Bearer {known.who.api_key}\r\n{head}\r\n\r\n"
        )
        sock.sendall(begin.encode("latin-1") + body)
        sock.settimeout(20)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
            if b"\r\n\r\n" in answer and b"Connection: close" not in begin.encode():
                break
    return answer


SMUGGLED = b"GET /v2/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\nConnection: close",
        "Content-Length: 0\r\nContent-Length: 45\r\nConnection: close",
        "Transfer-Encoding: xchunked\r\nConnection: close",
        "Transfer-Encoding: chunked, identity\r\nConnection: close",
        "Content-Length: +5\r\nConnection: close",
        "Content-Length : 5\r\nConnection: close",
    ],
)
def test_t166_a_body_that_two_servers_could_end_at_different_places_is_refused(
    served: Served, known: Known, held: Connection, upstream: Api, head: str
) -> None:
    answer = exchange(served, known, held, head, b"0\r\n\r\n" + SMUGGLED)
    assert answer.startswith(b"HTTP/1.1 400")
    assert not [path for path, _ in upstream.requests if "smuggled" in path]


def test_t166_a_chunked_body_is_framed_anew(
    agent: httpx2.Client, at: At, served: Served, known: Known, held: Connection, drive: ProviderRow
) -> None:
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with listening(answering(reply)) as listener:
        moved_to(listener, drive)
        body = b'3;ext="x"\r\nabc\r\n0\r\nX-Trailer: smuggled\r\n\r\n'
        head = "Transfer-Encoding: chunked\r\nTrailer: X-Trailer\r\nConnection: close"
        assert exchange(served, known, held, head, body).startswith(b"HTTP/1.1 200")
        [heard] = listener.heard
    head, _, body = heard.partition(b"\r\n\r\n")
    assert body == b"abc"
    assert b"content-length: 3" in head
    assert b"transfer-encoding" not in head
    assert b"railer" not in head


def moved_to(listener: Listener, drive: ProviderRow) -> None:
    """The API is at the listener, as if it had always been."""
    drive.api_urls = [listener.url.rstrip("/")]
    drive.save()
    Connection.objects.update(bound_to={"api": listener.url.rstrip("/")})
    api_access._providers.clear()


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nX-A: b\rX-B: c\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"not HTTP at all\r\n\r\n",
    ],
)
def test_t166_an_answer_that_two_clients_could_read_differently_is_not_passed_on(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection, reply: bytes
) -> None:
    with listening(answering(reply)) as listener:
        moved_to(listener, drive)
        answer = agent.get(at("/me"))
    assert (answer.status_code, answer.json()["code"]) == (502, "provider_broken")


def test_t166_bytes_behind_an_answer_are_no_answer_to_the_next_call(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection
) -> None:
    extra = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsomeone's"
    with listening(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + extra)) as listener:
        moved_to(listener, drive)
        assert [agent.get(at("/me")).text for _ in range(3)] == ["ok"] * 3


def test_t166_a_body_after_head_is_no_answer_to_the_next_call(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection
) -> None:
    with listening(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nbody\r\n")) as listener:
        moved_to(listener, drive)
        assert agent.head(at("/me")).status_code == 200
        assert agent.get(at("/me")).text == "body\r\n"
        assert listener.connections == 2


@pytest.mark.parametrize("name", [b"x-a\r\nx-b", b"x a", b"", b"x:b", b"x_a", "x-ü".encode()])
def test_t166_a_header_that_could_be_read_as_two_is_not_passed_on(name: bytes) -> None:
    assert forwarding.request_headers([(name, b"v"), (b"ok", b"1")]) == {"ok": "1"}
    assert forwarding.request_headers([(b"x-a", b"v\r\nx-b: c"), (b"ok", b"1")]) == {"ok": "1"}
    assert forwarding.reply_headers({"x-a": "v\x00"}, ()) == []


def test_the_log_shows_words_and_no_ids() -> None:
    shown = {
        "/v2/me": "/v2/me",
        "/repos/octo/hello/issues/17/comments": "/repos/octo/hello/issues/{id}/comments",
        "/bot123456:ABC-DEF/sendMessage": "/{id}/sendMessage",
        "/users/a%40b.example?token=x": "/users/{id}",
        "/api/chat.postMessage": "/api/chat.postMessage",
        "/" + "/".join("abcdefghijklmnop"): "/a/b/c/d/e/f/g/h/i/j/k/l/…",
        "/x/" + "a" * 60: "/x/{id}",
    }
    assert {path: forwarding.template(path) for path in shown} == shown
    assert all(re.fullmatch(r"[ -~…]{1,200}", forwarding.template(path)) for path in shown)
