"""Discovery: only the issuer that was asked for, only endpoints that we may call, not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from elicit_flows import http, oauth
from elicit_flows.oauth import cache, metadata
from tests.doubles.policy import dialing, loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.raw import dripping, listening
from tests.doubles.server import Request, Response, json_response, redirect
from tests.support.machine import within


@pytest.fixture
def provider() -> Iterator[Provider]:
    oauth.forget()
    with loopback_allowed(), Provider() as provider:
        yield provider


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time of the caches: add to the one number in the list."""
    now = [time.monotonic()]
    monkeypatch.setattr(cache, "monotonic", lambda: now[0])
    yield now
    oauth.forget()


def test_the_openid_configuration_is_read(provider: Provider) -> None:
    found = oauth.discover(provider.issuer)
    assert found.token_endpoint == f"{provider.url}/token"
    assert found.jwks_uri == f"{provider.url}/jwks"
    assert found.sends_iss
    assert found.offers_s256()


def test_rfc_8414_metadata_is_found_where_there_is_no_openid_configuration(provider: Provider) -> None:
    def only_oauth(request: Request) -> Response:
        if request.path == "/.well-known/oauth-authorization-server":
            return json_response({"issuer": provider.issuer, "token_endpoint": f"{provider.url}/token"})
        return Response(404)

    provider.scripted["metadata"] = only_oauth
    found = oauth.discover(provider.issuer)
    assert (found.token_endpoint, found.jwks_uri) == (f"{provider.url}/token", None)


def test_the_path_of_an_issuer_goes_where_each_rfc_wants_it(provider: Provider) -> None:
    with pytest.raises(oauth.DiscoveryError):
        oauth.discover(f"{provider.url}/tenant/")
    assert [request.path for request in provider.seen("unknown")] == [
        "/tenant/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/tenant",
    ]


@pytest.mark.parametrize("twist", ["{}/", "{}/other", "{}?", " {}", "https://op.example.com", ""])
def test_t37_metadata_of_another_issuer_is_refused(provider: Provider, twist: str) -> None:
    provider.metadata["issuer"] = twist.format(provider.issuer)
    with pytest.raises(oauth.DiscoveryError, match="another issuer"):
        oauth.discover(provider.issuer)


def test_t37_metadata_without_issuer_is_refused(provider: Provider) -> None:
    provider.metadata["issuer"] = None
    with pytest.raises(oauth.DiscoveryError, match="another issuer"):
        oauth.discover(provider.issuer)


INSIDE = [
    "http://provider.example.com/x",
    "https://10.0.0.1/x",
    "https://169.254.169.254/latest",
    "https://[fd00:ec2::254]/x",
    "https://2130706433/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://db.internal/x",
    "https://provider.example.com:6379/x",
    "https://user@provider.example.com/x",
    "file:///etc/passwd",
    7,
    ["https://provider.example.com/x"],
]
FIELDS = ["authorization_endpoint", "token_endpoint", "revocation_endpoint", "userinfo_endpoint", "jwks_uri"]


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("url", INSIDE)
def test_t36_an_endpoint_that_points_inside_is_refused(provider: Provider, name: str, url: object) -> None:
    provider.metadata[name] = url
    with pytest.raises(oauth.DiscoveryError):
        oauth.discover(provider.issuer)


def test_t36_an_issuer_that_points_inside_is_not_asked(provider: Provider) -> None:
    with dialing(http.Policy()), pytest.raises(oauth.DiscoveryError):
        oauth.discover(provider.issuer)
    assert provider.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        Response(200, b"<html>", {"Content-Type": "text/html"}),
        Response(200, b"[]"),
        Response(200, b'{"issuer": "a", "issuer": "b"}'),
        Response(200, b"x" * 70_000),
        Response(500),
        Response(429),
        Response(404),
        redirect("https://op.example.com/.well-known/openid-configuration", 307),
    ],
    ids=["html", "array", "twice", "huge", "500", "429", "404", "redirect"],
)
def test_what_is_no_metadata_is_a_discovery_error(provider: Provider, answer: Response) -> None:
    provider.scripted["metadata"] = answer
    with pytest.raises(oauth.DiscoveryError):
        oauth.discover(provider.issuer)


def test_an_issuer_with_a_query_is_refused(provider: Provider) -> None:
    with pytest.raises(oauth.DiscoveryError):
        oauth.discover(f"{provider.url}?tenant=1")


def test_t37_metadata_is_read_again_after_ten_minutes(provider: Provider, clock: list[float]) -> None:
    oauth.discover(provider.issuer)
    clock[0] += 599
    oauth.discover(provider.issuer)
    assert provider.calls["metadata"] == 1
    provider.metadata["issuer"] = "https://op.example.com"
    clock[0] += 2
    with pytest.raises(oauth.DiscoveryError):
        oauth.discover(provider.issuer)


def test_t48_a_silent_server_is_given_up_after_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metadata.DEADLINE == 5
    monkeypatch.setattr(metadata, "DEADLINE", 0.3)
    with loopback_allowed(), listening(dripping(b"HTTP/1.1 200 OK\r\n", b"X", 0.05)) as silent:
        began = time.monotonic()
        with pytest.raises(oauth.DiscoveryError):
            oauth.discover(silent.url)
        assert time.monotonic() - began < within(2)


def test_t48_a_failure_is_remembered_for_two_seconds(provider: Provider, clock: list[float]) -> None:
    provider.scripted["metadata"] = Response(503)
    for _ in range(20):
        with pytest.raises(oauth.DiscoveryError):
            oauth.discover(provider.issuer)
    assert provider.calls["metadata"] == 1
    del provider.scripted["metadata"]
    clock[0] += 2.1
    assert oauth.discover(provider.issuer).issuer == provider.issuer


def test_many_at_once_are_one_request(provider: Provider) -> None:
    gate = threading.Event()

    def slowly(request: Request) -> Response:
        gate.wait(5)
        return json_response({"issuer": provider.issuer})

    provider.scripted["metadata"] = slowly
    with ThreadPoolExecutor(10) as threads:
        waiting = [threads.submit(oauth.discover, provider.issuer) for _ in range(10)]
        gate.set()
        found = {each.result() for each in waiting}
    assert len(found) == 1
    assert provider.calls["metadata"] == 1


def test_what_is_known_can_be_had_without_asking(provider: Provider) -> None:
    assert oauth.discovered(provider.issuer) is None
    assert provider.requests == []
    oauth.discover(provider.issuer)
    assert oauth.discovered(provider.issuer) == oauth.discover(provider.issuer)


@pytest.mark.parametrize(
    ("methods", "offered"), [(["S256"], True), (["plain", "S256"], True), (None, True), (["plain"], False), ([], False)]
)
def test_t19_whether_s256_is_offered(provider: Provider, methods: Any, offered: bool) -> None:
    provider.metadata["code_challenge_methods_supported"] = methods
    assert oauth.discover(provider.issuer).offers_s256() is offered


def test_t155_many_issuers_push_out_those_that_nobody_uses() -> None:
    """Where agents may name any MCP server, they name its authorization server too."""
    fetched: list[str] = []

    def fetch(key: str) -> str:
        fetched.append(key)
        return key

    known = cache.Cache(fetch, most=10)
    for number in range(100):
        assert known.get("in use") == "in use"
        known.get(f"https://{number}.example.com")
    assert len(fetched) == 101, "what is in use stays"
    remembered = [number for number in range(100) if known.peek(f"https://{number}.example.com")]
    assert remembered == list(range(91, 100))
