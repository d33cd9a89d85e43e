"""Refreshing and revoking, as the vault does it."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows import oauth
from elicit_flows.domain.values import Finish, Grant, Secret
from elicit_flows.kinds.oauth import refresh, revoke
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response, redirect
from tests.kinds.connecting import by_issuer, by_urls, connect


def connected(provider: Provider, *scopes: str) -> tuple[Grant, Secret]:
    outcome = connect(provider, by_issuer(provider), scopes or ("files.read",))
    assert isinstance(outcome, Finish)
    assert outcome.grant
    assert outcome.grant.refresh_token
    return outcome.grant, outcome.grant.refresh_token


def test_a_grant_is_refreshed_and_the_rotated_token_kept(provider: Provider) -> None:
    grant, token = connected(provider)
    newer = refresh(by_issuer(provider), token, grant.scopes)
    assert newer.refresh_token not in (None, token)
    assert provider.live(newer.access_token.reveal())
    assert newer.scopes == ("files.read",)
    with pytest.raises(oauth.InvalidGrant):
        refresh(by_issuer(provider), token, grant.scopes)


@pytest.mark.parametrize("sent", [None, ""])
def test_t83_without_a_new_refresh_token_the_old_one_goes_on(provider: Provider, sent: str | None) -> None:
    provider.rotates = False
    _, token = connected(provider)
    provider.reply = {"refresh_token": sent, "scope": None}
    for _ in range(2):
        newer = refresh(by_issuer(provider), token, ("files.read", "w"))
        assert newer.refresh_token == token
        assert newer.scopes == ("files.read", "w")


@pytest.mark.parametrize(
    "claims", [{"sub": "mallory"}, {"iss": "https://evil.example.com"}, {"aud": "another"}, {"aud": ["a", "b"]}]
)
def test_t83_an_answer_for_another_account_is_refused(provider: Provider, claims: dict[str, Any]) -> None:
    grant, token = connected(provider, "openid")
    provider.claims = claims
    with pytest.raises(oauth.ProviderError) as caught:
        refresh(by_issuer(provider), token, grant.scopes, account_id=grant.account_id)
    assert caught.value.code == "identity_changed"


def test_t83_the_same_account_goes_on(provider: Provider) -> None:
    grant, token = connected(provider, "openid")
    assert refresh(by_issuer(provider), token, grant.scopes, account_id=grant.account_id).account_id == "alice"


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (json_response({"error": "invalid_grant"}, 400), oauth.InvalidGrant),
        (json_response({"error": "bad_refresh_token"}), oauth.InvalidGrant),
        (json_response({"error": "invalid_client"}, 401), oauth.ProviderError),
        (Response(200, b"{}", {"Content-Type": "application/json"}), oauth.ProviderError),
        (redirect("https://elsewhere.example.com/token", 307), oauth.ProviderError),
        (Response(503), oauth.Transient),
        (Response(429), oauth.Transient),
    ],
)
def test_t84_only_invalid_grant_kills_a_connection(
    provider: Provider, answer: Response, raised: type[Exception]
) -> None:
    provider.scripted["token"] = answer
    with pytest.raises(raised):
        refresh(by_urls(provider), Secret("rt"), ())


def test_t84_metadata_that_cannot_be_had_is_no_verdict(provider: Provider) -> None:
    provider.scripted["metadata"] = Response(503)
    for call in (lambda: refresh(by_issuer(provider), Secret("rt"), ()), lambda: _revoke(provider)):
        with pytest.raises(oauth.Transient) as caught:
            call()
        assert not caught.value.sent


def _revoke(provider: Provider) -> bool:
    return revoke(by_issuer(provider), Secret("rt"), "refresh_token")


def test_t86_revoking_ends_the_grant_upstream(provider: Provider) -> None:
    grant, token = connected(provider)
    assert revoke(by_issuer(provider), token, "refresh_token")
    assert not provider.live(grant.access_token.reveal())


def test_t86_a_provider_without_revocation_says_so_without_a_request(provider: Provider) -> None:
    provider.metadata["revocation_endpoint"] = None
    assert not _revoke(provider)
    assert not revoke(by_urls(provider, revocation_url=None), Secret("t"), "access_token")
    assert provider.calls["revoke"] == 0


@pytest.mark.parametrize(("status", "raised"), [(503, oauth.Transient), (401, oauth.ProviderError)])
def test_t86_a_revocation_that_failed_is_told(provider: Provider, status: int, raised: type[Exception]) -> None:
    provider.scripted["revoke"] = Response(status)
    with pytest.raises(raised):
        _revoke(provider)
