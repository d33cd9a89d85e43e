"""The OpenID provider, with Authlib and joserfc as its client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from authlib.integrations.httpx_client import OAuth2Client, OAuthError
from joserfc import jwt
from joserfc.jwk import KeySet

from tests.sandbox.browser import Browser, landed
from tests.sandbox.conftest import SERVICE

CALLBACK = f"{SERVICE}/login/sandbox/callback"
VERIFIER = "v" * 43


@pytest.fixture(scope="module")
def provider(sandbox: str) -> dict[str, Any]:
    metadata: dict[str, Any] = httpx2.get(f"{sandbox}/.well-known/openid-configuration").json()
    assert metadata["issuer"] == sandbox
    return metadata


@pytest.fixture
def client() -> Iterator[OAuth2Client]:
    with OAuth2Client(
        "elicit-flows",
        "development-only-sandbox-sign-in",
        redirect_uri=CALLBACK,
        scope="openid profile",
        code_challenge_method="S256",
    ) as one:
        yield one


def link(client: OAuth2Client, provider: dict[str, Any], **more: Any) -> str:
    given = {"code_verifier": VERIFIER, "nonce": "n-1", "state": "s-1", **more}
    url, _ = client.create_authorization_url(provider["authorization_endpoint"], **given)
    return str(url)


def tokens(client: OAuth2Client, provider: dict[str, Any], code: str, verifier: str = VERIFIER) -> dict[str, Any]:
    answer: dict[str, Any] = client.fetch_token(provider["token_endpoint"], code=code, code_verifier=verifier)
    return answer


def claims(provider: dict[str, Any], token: dict[str, Any]) -> dict[str, Any]:
    keys = KeySet.import_key_set(httpx2.get(provider["jwks_uri"]).json())
    decoded = jwt.decode(token["id_token"], keys, algorithms=["RS256"])
    assert decoded.header["kid"] == keys.keys[0].kid
    return decoded.claims


def test_signing_in_gives_an_id_token_that_holds(
    provider: dict[str, Any], client: OAuth2Client, browser: Browser
) -> None:
    page = browser.open(link(client, provider))
    assert browser.actions == ["alice", "bob"]
    assert "SANDBOX" in page.text
    back = landed(browser.press("alice"))
    assert browser.page.headers["Location"].startswith(CALLBACK + "?")
    assert (back["state"], back["iss"]) == ("s-1", provider["issuer"])

    token = tokens(client, provider, back["code"])
    said = claims(provider, token)
    assert (said["iss"], said["sub"], said["name"]) == (provider["issuer"], "alice", "Alice Archer")
    assert said["aud"] in ("elicit-flows", ["elicit-flows"])
    assert said["nonce"] == "n-1"
    assert abs(said["auth_time"] - time.time()) < 10
    assert said["iat"] <= time.time() < said["exp"]
    bearer = {"Authorization": f"Bearer {token['access_token']}"}
    assert httpx2.get(provider["userinfo_endpoint"], headers=bearer).json() == {"sub": "alice", "name": "Alice Archer"}
    assert httpx2.get(provider["userinfo_endpoint"]).status_code == 401


def test_a_wrong_verifier_buys_nothing(provider: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    browser.open(link(client, provider))
    back = landed(browser.press("alice"))
    with pytest.raises(OAuthError, match="invalid_grant"):
        tokens(client, provider, back["code"], verifier="w" * 43)


def test_a_code_works_once_and_its_second_use_ends_the_token(
    provider: dict[str, Any], client: OAuth2Client, browser: Browser
) -> None:
    browser.open(link(client, provider))
    code = landed(browser.press("alice"))["code"]
    bearer = {"Authorization": f"Bearer {tokens(client, provider, code)['access_token']}"}
    with pytest.raises(OAuthError, match="invalid_grant"):
        tokens(client, provider, code)
    assert httpx2.get(provider["userinfo_endpoint"], headers=bearer).status_code == 401


@pytest.mark.parametrize("challenge", [{}, {"code_challenge": "c" * 43, "code_challenge_method": "plain"}])
def test_without_s256_the_user_is_not_even_asked(
    provider: dict[str, Any], browser: Browser, challenge: dict[str, str]
) -> None:
    asked = {"response_type": "code", "client_id": "elicit-flows", "redirect_uri": CALLBACK, "scope": "openid"}
    url = httpx2.URL(provider["authorization_endpoint"], params=asked | {"state": "s-1"} | challenge)
    back = landed(browser.open(str(url)))
    assert (back["error"], back["state"], back["iss"]) == ("invalid_request", "s-1", provider["issuer"])


def test_nobody_is_sent_to_an_address_that_is_not_registered(
    provider: dict[str, Any], client: OAuth2Client, browser: Browser
) -> None:
    client.redirect_uri = f"{CALLBACK}/elsewhere"
    page = browser.open(link(client, provider))
    assert page.status_code == 400
    assert "Location" not in page.headers


def test_the_second_sign_in_goes_straight_through(
    provider: dict[str, Any], client: OAuth2Client, browser: Browser
) -> None:
    browser.open(link(client, provider))
    browser.press("bob")
    for more in ({}, {"prompt": "none"}, {"max_age": 1000}):
        back = landed(browser.open(link(client, provider, **more)))
        assert claims(provider, tokens(client, provider, back["code"]))["sub"] == "bob"


@pytest.mark.parametrize("more", [{"prompt": "login"}, {"prompt": "select_account"}, {"max_age": 0}])
def test_a_client_may_have_the_user_asked_again(
    provider: dict[str, Any], client: OAuth2Client, browser: Browser, more: dict[str, Any]
) -> None:
    browser.open(link(client, provider))
    browser.press("bob")
    assert browser.open(link(client, provider, **more)).status_code == 200
    back = landed(browser.press("alice"))
    assert claims(provider, tokens(client, provider, back["code"]))["sub"] == "alice"


def test_prompt_none_bothers_nobody(provider: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    back = landed(browser.open(link(client, provider, prompt="none")))
    assert (back["error"], back["iss"]) == ("login_required", provider["issuer"])
    browser.open(link(client, provider))
    browser.press("alice")
    assert landed(browser.open(link(client, provider, prompt="none", max_age=0)))["error"] == "login_required"
