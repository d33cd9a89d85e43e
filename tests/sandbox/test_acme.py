"""Acme Drive, with Authlib as its client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from authlib.integrations.httpx_client import OAuth2Client, OAuthError

from tests.sandbox.browser import Browser, landed
from tests.sandbox.conftest import SERVICE
from tests.support.process import until

VERIFIER = "v" * 43
SECRET = "development-only-acme-drive"
Connect = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def acme(sandbox: str) -> dict[str, Any]:
    return metadata(sandbox)


def metadata(sandbox: str) -> dict[str, Any]:
    """RFC 8414 section 3.1: the well-known part goes between host and path."""
    answer: dict[str, Any] = httpx2.get(f"{sandbox}/.well-known/oauth-authorization-server/acme").json()
    assert answer["issuer"] == f"{sandbox}/acme"
    return answer


@pytest.fixture
def client() -> Iterator[OAuth2Client]:
    with OAuth2Client(
        "elicit-flows-at-acme", SECRET, redirect_uri=f"{SERVICE}/callback/acme", code_challenge_method="S256"
    ) as one:
        yield one


@pytest.fixture
def connect(client: OAuth2Client, browser: Browser) -> Connect:
    """As alice, allow ``scope``; the token answer."""

    def connect(acme: dict[str, Any], scope: str = "files.read") -> dict[str, Any]:
        browser.open(link(client, acme, scope))
        browser.press("alice")
        back = landed(browser.press("allow"))
        answer: dict[str, Any] = client.fetch_token(acme["token_endpoint"], code=back["code"], code_verifier=VERIFIER)
        return answer

    return connect


def link(client: OAuth2Client, acme: dict[str, Any], scope: str) -> str:
    url, _ = client.create_authorization_url(
        acme["authorization_endpoint"], scope=scope, state="s-1", code_verifier=VERIFIER
    )
    return str(url)


def get(url: str, token: str) -> httpx2.Response:
    return httpx2.get(url, headers={"Authorization": f"Bearer {token}"})


def refresh(acme: dict[str, Any], token: str) -> httpx2.Response:
    form = {"grant_type": "refresh_token", "refresh_token": token}
    return httpx2.post(acme["token_endpoint"], data=form, auth=("elicit-flows-at-acme", SECRET))


def test_allowing_opens_the_files_of_that_user(acme: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    browser.open(link(client, acme, "files.read files.write"))
    assert browser.actions == ["alice", "bob"]
    page = browser.press("bob")
    assert browser.actions == ["allow", "deny", "switch"]
    for word in ("SANDBOX", "Elicit Flows", "files.read", "files.write", "Bob Baker"):
        assert word in page.text
    back = landed(browser.press("allow"))
    assert (back["state"], back["iss"]) == ("s-1", acme["issuer"])

    token = client.fetch_token(acme["token_endpoint"], code=back["code"], code_verifier=VERIFIER)
    assert (token["scope"], token["expires_in"]) == ("files.read files.write", 120)
    files = get(f"{acme['issuer']}/api/files", token["access_token"]).json()["files"]
    assert "Thesis, final.docx" in [file["name"] for file in files]
    account = get(acme["userinfo_endpoint"], token["access_token"]).json()
    assert (account["id"], account["label"]) == ("acme-bob", "Bob Baker's drive")


def test_denying_is_told_with_state_and_issuer(acme: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    browser.open(link(client, acme, "files.read"))
    browser.press("alice")
    back = landed(browser.press("deny"))
    assert (back["error"], back["state"], back["iss"]) == ("access_denied", "s-1", acme["issuer"])


def test_the_user_may_be_another_at_acme(acme: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    browser.open(link(client, acme, "files.read"))
    browser.press("alice")
    browser.press("switch")
    assert browser.actions == ["alice", "bob"]
    assert "Bob Baker" in browser.press("bob").text


def test_nobody_decides_without_signing_in(acme: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    url = link(client, acme, "files.read")
    assert browser.http.post(url, data={"decision": "allow"}).status_code == 400


def test_a_scope_that_there_is_not_is_refused(acme: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    assert landed(browser.open(link(client, acme, "files.read everything")))["error"] == "invalid_scope"


def test_a_token_opens_only_what_was_allowed(acme: dict[str, Any], connect: Connect) -> None:
    token = connect(acme, "files.write")
    assert get(f"{acme['issuer']}/api/files", token["access_token"]).status_code == 403
    assert get(f"{acme['issuer']}/api/files", "not-a-token").status_code == 401


def test_a_refresh_gives_new_tokens_and_the_old_refresh_token_ends_them(acme: dict[str, Any], connect: Connect) -> None:
    first = connect(acme)
    second = refresh(acme, first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert get(f"{acme['issuer']}/api/files", second["access_token"]).status_code == 200

    again = refresh(acme, first["refresh_token"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert get(f"{acme['issuer']}/api/files", second["access_token"]).status_code == 401
    assert refresh(acme, second["refresh_token"]).json()["error"] == "invalid_grant"


def test_of_two_refreshes_at_once_one_gets_through(acme: dict[str, Any], connect: Connect) -> None:
    token = connect(acme)["refresh_token"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: refresh(acme, token).status_code, range(8)))
    assert sorted(answers) == [200] + [400] * 7


def test_revocation_ends_both_tokens(acme: dict[str, Any], connect: Connect) -> None:
    token = connect(acme)
    form = {"token": token["refresh_token"], "token_type_hint": "refresh_token"}
    assert httpx2.post(acme["revocation_endpoint"], data=form).status_code == 401
    ended = httpx2.post(acme["revocation_endpoint"], data=form, auth=("elicit-flows-at-acme", SECRET))
    assert ended.status_code == 200
    assert get(f"{acme['issuer']}/api/files", token["access_token"]).status_code == 401
    assert refresh(acme, token["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_wrong_secret_or_verifier_buys_nothing(acme: dict[str, Any], client: OAuth2Client, browser: Browser) -> None:
    browser.open(link(client, acme, "files.read"))
    browser.press("alice")
    code = landed(browser.press("allow"))["code"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    guessed = httpx2.post(acme["token_endpoint"], data=form, auth=("elicit-flows-at-acme", "guessed"))
    assert (guessed.status_code, guessed.json()["error"]) == (401, "invalid_client")
    with pytest.raises(OAuthError, match="invalid_grant"):
        client.fetch_token(acme["token_endpoint"], code=code, code_verifier="w" * 43)


@pytest.mark.slow
def test_an_access_token_expires_and_a_refresh_brings_another(start: Callable[..., str], connect: Connect) -> None:
    acme = metadata(start("--service-url", SERVICE, "--token-seconds", "1"))
    token = connect(acme)
    assert token["expires_in"] == 1
    files = f"{acme['issuer']}/api/files"
    until(lambda: get(files, token["access_token"]).status_code == 401, "the token expires", timeout=5)
    fresh = refresh(acme, token["refresh_token"]).json()
    assert get(files, fresh["access_token"]).status_code == 200
