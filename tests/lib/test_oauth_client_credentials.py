"""A token for the client itself: what is sent, and whose fault each answer is (RFC 6749, sections 4.4 and 5.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from elicit_flows import oauth
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response

SECRET = "p ä/+:%&=ss"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with loopback_allowed(), Provider("own:client", SECRET) as provider:
        yield provider


def ask(provider: Provider, auth: str = "client_secret_basic", **more: Any) -> oauth.Tokens:
    quirks = more.pop("quirks", oauth.PLAIN)
    client = oauth.Client(provider.client_id, provider.client_secret, auth, quirks=quirks)
    return oauth.client_credentials(f"{provider.url}/token", client, **more)


def sent(provider: Provider) -> list[tuple[str, str]]:
    (request,) = provider.seen("token")
    return parse_qsl(request.body.decode())


@pytest.mark.parametrize("auth", ["client_secret_basic", "client_secret_post"])
def test_the_client_asks_for_itself(provider: Provider, auth: str) -> None:
    tokens = ask(provider, auth, scopes=["a", "b"], resources=["https://one.example.com", "https://two.example.com"])
    assert provider.live(tokens.access_token)
    assert (tokens.refresh_token, tokens.scopes, tokens.expires_in) == (None, ("a", "b"), 3600)
    said = [("grant_type", "client_credentials"), ("scope", "a b")]
    said += [("resource", "https://one.example.com"), ("resource", "https://two.example.com")]
    in_the_form = [("client_id", "own:client"), ("client_secret", SECRET)] if auth.endswith("post") else []
    assert sorted(sent(provider)) == sorted(said + in_the_form)


def test_without_scopes_none_is_named(provider: Provider) -> None:
    assert ask(provider).scopes is None
    assert sent(provider) == [("grant_type", "client_credentials")]


def test_a_provider_may_be_as_odd_here_as_elsewhere(provider: Provider) -> None:
    quirks = oauth.Quirks(
        scope_separator=",", request_body="json", token_params={"audience": "https://api.example.com"},
        client_id_param="app_id", answer_path=("data",), token_type="unsaid", expires_field="lives",
    )  # fmt: skip
    provider.scripted["token"] = json_response({"data": {"access_token": "at-1", "lives": 60, "scope": "a,b"}})
    tokens = ask(provider, "client_secret_post", scopes=["a", "b"], quirks=quirks)
    assert (tokens.access_token, tokens.expires_in, tokens.scopes) == ("at-1", 60, ("a", "b"))
    (request,) = provider.seen("token")
    assert json.loads(request.body) == {
        "grant_type": "client_credentials", "scope": "a,b", "audience": "https://api.example.com",
        "app_id": "own:client", "client_secret": SECRET,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, {"error": "invalid_client"}, "invalid_client"),
        (400, {"error": "invalid_client"}, "invalid_client"),
        (401, {"error": "access_denied"}, "invalid_client"),  # as Auth0 says it
        (401, None, "invalid_client"),
        (400, {"error": "unauthorized_client"}, "unauthorized_client"),
        (400, {"error": "invalid_scope"}, "invalid_scope"),
        (403, {"error": "access_denied"}, "access_denied"),
        (403, {"status": 403, "message": "invalid client secret"}, "access_denied"),  # as Twitch says it
        (400, {"error": {"code": 12}}, "access_denied"),
    ],
)
def test_a_client_that_is_refused_is_told_from_all_else(
    provider: Provider, status: int, body: dict[str, Any] | None, code: str
) -> None:
    provider.scripted["token"] = json_response(body, status) if body else Response(status)
    with pytest.raises(oauth.ClientRefused) as refused:
        ask(provider)
    assert refused.value.code == code
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (503, {"error": "invalid_client"}, oauth.Transient), (429, {}, oauth.Transient),
        (400, {"error": "temporarily_unavailable"}, oauth.Transient), (404, {}, oauth.ProviderError),
        (302, {}, oauth.ProviderError), (400, {"error": "unsupported_grant_type"}, oauth.ProviderError),
        (200, {"token_type": "Bearer"}, oauth.ProviderError), (200, {"access_token": "a"}, oauth.ProviderError),
    ],
)  # fmt: skip
def test_what_says_nothing_about_the_client_is_not_held_against_it(
    provider: Provider, status: int, body: dict[str, Any], error: type[oauth.OAuthError]
) -> None:
    provider.scripted["token"] = json_response(body, status)
    with pytest.raises(error) as said:
        ask(provider)
    assert not isinstance(said.value, oauth.ClientRefused)


def test_t31_a_clients_secret_follows_no_redirect(provider: Provider) -> None:
    seen: list[Request] = []
    with Provider() as evil:
        evil.scripted["token"] = lambda request: seen.append(request) or Response(200)
        provider.scripted["token"] = Response(307, headers={"Location": f"{evil.url}/token"})
        with pytest.raises(oauth.ProviderError):
            ask(provider)
        assert evil.requests == seen == []
