"""What each odd answer of a token endpoint is taken for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from elicit_flows import oauth
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response, redirect


@pytest.fixture
def provider() -> Iterator[Provider]:
    with loopback_allowed(), Provider() as provider:
        yield provider


def reading(provider: Provider, answer: Response) -> oauth.Tokens:
    """What ``answer`` of the token endpoint is taken for."""
    provider.scripted["token"] = answer
    client = oauth.Client(provider.client_id, provider.client_secret)
    return oauth.redeem(f"{provider.url}/token", client, code="c", redirect_uri="https://x.example", verifier="v" * 43)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_t31_the_code_does_not_follow_a_redirect(provider: Provider, status: int) -> None:
    with Provider() as sink:
        with pytest.raises(oauth.ProviderError) as caught:
            reading(provider, redirect(f"{sink.url}/token", status))
        assert sink.requests == []
    assert caught.value.code == "redirect"


GOOD: dict[str, Any] = {"access_token": "at", "token_type": "Bearer", "expires_in": 3600}


@pytest.mark.parametrize(
    ("change", "expires_in"),
    [
        ({}, 3600),
        ({"token_type": "bearer"}, 3600),
        ({"token_type": "BEARER"}, 3600),
        ({"expires_in": None}, None),
        ({"expires_in": "3600"}, 3600),
        ({"expires_in": 3600.0}, 3600),
        ({"expires_in": 3600.5}, None),
        ({"expires_in": 0}, None),
        ({"expires_in": -1}, None),
        ({"expires_in": "soon"}, None),
        ({"expires_in": 10**18}, None),
        ({"expires_in": 1e18}, None),
        ({"expires_in": True}, None),
        ({"expires_in": [3600]}, None),
        ({"expires_in": "9" * 4000}, None),
        ({"refresh_token": ""}, 3600),
        ({"unknown": {"deep": []}}, 3600),
    ],
)
def test_t32_odd_but_usable_answers(provider: Provider, change: dict[str, Any], expires_in: int | None) -> None:
    tokens = reading(provider, json_response(GOOD | change))
    assert (tokens.access_token, tokens.expires_in, tokens.refresh_token) == ("at", expires_in, None)


@pytest.mark.parametrize(
    "change",
    [
        {"access_token": None},
        {"access_token": ""},
        {"access_token": 7},
        {"access_token": ["at"]},
        {"access_token": "a b"},
        {"access_token": "a\r\nX-Evil: 1"},
        {"access_token": "\u00e4"},
        {"access_token": "a" * 20_000},
        {"token_type": None},
        {"token_type": "MAC"},
        {"token_type": "DPoP"},
        {"token_type": ["Bearer"]},
        {"refresh_token": {"a": 1}},
        {"refresh_token": "a\x00"},
        {"id_token": 5},
        {"scope": 7},
        {"scope": ["a", 1]},
        {"scope": 'a"b'},
        {"scope": "a\nb"},
    ],
)
def test_t32_unusable_answers_are_provider_errors(provider: Provider, change: dict[str, Any]) -> None:
    with pytest.raises(oauth.ProviderError) as caught:
        reading(provider, json_response(GOOD | change))
    assert caught.value.code == "bad_response"


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "answer",
    [
        Response(200, b"<html>Please sign in</html>", {"Content-Type": "text/html"}),
        Response(200, json.dumps(GOOD).encode(), {"Content-Type": "text/html"}),
        Response(200, b"access_token=at&token_type=bearer", {"Content-Type": "application/x-www-form-urlencoded"}),
        Response(200, b"", JSON),
        Response(200, b"[]", JSON),
        Response(200, b'"at"', JSON),
        Response(200, b'{"access_token": "a", "access_token": "b", "token_type": "bearer"}', JSON),
        Response(200, b'{"access_token": "a", "token_type": "bearer", "expires_in": NaN}', JSON),
        Response(200, b'{"access_token": "\xff", "token_type": "bearer"}', JSON),
        Response(204),
        Response(400, b"no", {"Content-Type": "text/plain"}),
        Response(401, b"", {"WWW-Authenticate": "Basic"}),
        Response(404),
    ],
)
def test_t32_what_is_no_token_response_is_a_provider_error(provider: Provider, answer: Response) -> None:
    with pytest.raises(oauth.ProviderError) as caught:
        reading(provider, answer)
    assert caught.value.code == "bad_response"


def test_t32_ten_megabytes_are_not_read(provider: Provider) -> None:
    with pytest.raises(oauth.Transient):
        reading(provider, Response(200, b'{"access_token": "' + b"a" * 10_000_000, JSON))


@pytest.mark.parametrize(
    ("status", "body", "raised"),
    [
        (400, {"error": "invalid_grant"}, oauth.InvalidGrant),
        (200, {"error": "bad_verification_code"}, oauth.InvalidGrant),
        (200, {"error": "bad_refresh_token"}, oauth.InvalidGrant),
        (400, {"error": "invalid_request"}, oauth.ProviderError),
        (401, {"error": "invalid_client"}, oauth.ProviderError),
        (200, {"error": "incorrect_client_credentials"}, oauth.ProviderError),
        (400, {"error": "temporarily_unavailable"}, oauth.Transient),
        (400, {"error": "server_error"}, oauth.Transient),
        (429, {}, oauth.Transient),
        (408, {}, oauth.Transient),
        (500, {}, oauth.Transient),
        (502, {"error": "invalid_grant"}, oauth.Transient),
        (503, {}, oauth.Transient),
    ],
)
def test_t84_only_invalid_grant_means_a_dead_grant(
    provider: Provider, status: int, body: dict[str, str], raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        reading(provider, json_response(body, status))


@pytest.mark.parametrize("code", ["<svg onload=alert(1)>", "a b", "x" * 100, "A\u202e", {"at": 7}, [True]])
def test_t33_an_error_code_that_is_not_one_is_not_repeated(provider: Provider, code: Any) -> None:
    with pytest.raises(oauth.ProviderError) as caught:
        reading(provider, json_response({"error": code, "error_description": "canary"}, 400))
    assert caught.value.code == "unknown_error"
    assert "svg" not in str(caught.value)
    assert "canary" not in str(caught.value)


def test_scopes_come_with_spaces_commas_or_as_an_array(provider: Provider) -> None:
    for scope in ("repo read:user", "repo,read:user", ["repo", "read:user"], " repo  read:user repo"):
        assert reading(provider, json_response(GOOD | {"scope": scope})).scopes == ("repo", "read:user")
    assert reading(provider, json_response(GOOD)).scopes is None
    assert reading(provider, json_response(GOOD | {"scope": ""})).scopes == ()
