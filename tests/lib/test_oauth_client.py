"""The token endpoint and its neighbours: what is sent, and what each odd answer means."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from elicit_flows import oauth
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.raw import answering, dripping, listening
from tests.doubles.server import Request, Response, json_response, redirect

CALLBACK = "https://flows.example.com/callback/acme"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with loopback_allowed(), Provider() as provider:
        yield provider


def client(provider: Provider, auth: str = "client_secret_basic") -> oauth.Client:
    return oauth.Client(provider.client_id, provider.client_secret, auth, provider.issuer)


def leave(provider: Provider, verifier: str | None, **extra: str | None) -> str:
    return oauth.authorization_url(
        f"{provider.url}/authorize",
        client_id=provider.client_id,
        redirect_uri=CALLBACK,
        scopes=["files.read", "openid"],
        state="st4te",
        verifier=verifier,
        **extra,
    )


def redeem(provider: Provider, auth: str = "client_secret_basic") -> oauth.Tokens:
    verifier = oauth.new_verifier()
    code = provider.visit(leave(provider, verifier))["code"][0]
    return oauth.redeem(
        f"{provider.url}/token", client(provider, auth), code=code, redirect_uri=CALLBACK, verifier=verifier
    )


def test_t19_the_authorization_url_always_carries_s256() -> None:
    with loopback_allowed(), Provider() as provider:
        query = parse_qs(urlsplit(leave(provider, "v" * 43, nonce="n", prompt=None)).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["scope"] == ["files.read openid"]
    assert (query["state"], query["redirect_uri"], query["nonce"]) == (["st4te"], [CALLBACK], ["n"])
    assert "prompt" not in query
    assert query["response_type"] == ["code"]


def test_an_authorization_endpoint_keeps_its_own_query() -> None:
    url = oauth.authorization_url(
        "https://op.example.com/authorize?tenant=7",
        client_id="a",
        redirect_uri=CALLBACK,
        scopes=[],
        state="s",
        verifier=None,
    )
    query = parse_qs(urlsplit(url).query)
    assert query["tenant"] == ["7"]
    assert "code_challenge" not in query
    assert "scope" not in query


def test_t18_verifiers_are_fresh_and_long_enough() -> None:
    made = {oauth.new_verifier() for _ in range(10_000)}
    assert len(made) == 10_000
    assert {len(verifier) for verifier in made} == {64}


def test_t18_a_code_of_another_attempt_is_an_invalid_grant(provider: Provider) -> None:
    stolen = provider.visit(leave(provider, oauth.new_verifier()))["code"][0]
    with pytest.raises(oauth.InvalidGrant):
        oauth.redeem(
            f"{provider.url}/token",
            client(provider),
            code=stolen,
            redirect_uri=CALLBACK,
            verifier=oauth.new_verifier(),
        )


@pytest.mark.parametrize("auth", ["client_secret_basic", "client_secret_post"])
def test_a_code_is_redeemed_refreshed_and_revoked(provider: Provider, auth: str) -> None:
    provider.client_id, provider.client_secret = "a:b c", "s+%/é="
    tokens = redeem(provider, auth)
    assert tokens.scopes == ("files.read", "openid")
    assert tokens.expires_in == 3600
    assert tokens.id_token
    newer = oauth.refresh(f"{provider.url}/token", client(provider, auth), refresh_token=tokens.refresh_token or "")
    assert newer.refresh_token != tokens.refresh_token
    with pytest.raises(oauth.InvalidGrant):
        oauth.refresh(f"{provider.url}/token", client(provider, auth), refresh_token=tokens.refresh_token or "")
    assert oauth.revoke(f"{provider.url}/revoke", client(provider, auth), token=newer.access_token, hint="access_token")
    assert not provider.live(newer.access_token)


def test_a_public_client_sends_its_id_and_no_secret(provider: Provider) -> None:
    provider.client_secret = None
    assert redeem(provider).access_token
    request = provider.seen("token")[0]
    assert "authorization" not in request.headers
    assert request.form["client_id"] == provider.client_id


def test_t35_the_assertion_is_for_the_issuer_alone(provider: Provider) -> None:
    for key in (RSAKey.generate_key(2048), ECKey.generate_key("P-256", {"kid": "k1"})):
        provider.scripted["token"] = json_response({"access_token": "a", "token_type": "bearer"})
        provider.scripted["revoke"] = Response(200)
        written = (
            key.as_pem(private=True).decode() if isinstance(key, RSAKey) else json.dumps(key.as_dict(private=True))
        )
        asking = oauth.Client("elicit", written, "private_key_jwt", provider.issuer)
        oauth.redeem(f"{provider.url}/token", asking, code="c", redirect_uri=CALLBACK, verifier=None)
        oauth.revoke(f"{provider.url}/revoke", asking, token="t", hint="access_token")
        provider.scripted["par"] = json_response({"request_uri": "urn:x"}, 201)
        oauth.push(f"{provider.url}/par", asking, f"{provider.url}/authorize?client_id=elicit")
        sent = [provider.seen(name)[-1].form for name in ("token", "revoke", "par")]
        read = [jwt.decode(form["client_assertion"], key, algorithms=["RS256", "ES256"]) for form in sent]
        assert [token.claims["aud"] for token in read] == [provider.issuer] * 3
        assert {(token.claims["iss"], token.claims["sub"]) for token in read} == {("elicit", "elicit")}
        assert read[0].claims["jti"] != read[1].claims["jti"]
        assert 0 < read[0].claims["exp"] - time.time() <= 60
        assert "PRIVATE" not in str(sent)


def test_t35_without_an_issuer_there_is_no_assertion(provider: Provider) -> None:
    key = RSAKey.generate_key(2048).as_pem(private=True).decode()
    for secret, issuer in ((key, None), ("not a key", provider.issuer), ('{"kty": "oct", "k": "YQ"}', provider.issuer)):
        asking = oauth.Client("elicit", secret, "private_key_jwt", issuer)
        with pytest.raises(oauth.ProviderError):
            oauth.refresh(f"{provider.url}/token", asking, refresh_token="r")
    assert provider.calls["token"] == 0


def test_f16_whether_the_request_may_have_arrived_is_told() -> None:
    asking = oauth.Client("elicit", "s")
    with loopback_allowed():
        with listening(dripping(b"", b"", 0.05)) as silent, pytest.raises(oauth.Transient) as after:
            oauth.refresh(f"{silent.url}token", asking, refresh_token="r", deadline=0.3)
        with pytest.raises(oauth.Transient) as before:
            oauth.refresh(f"{silent.url}token", asking, refresh_token="r", deadline=0.3)
    assert (after.value.sent, before.value.sent) == (True, False)


def test_f16_a_code_is_never_sent_twice_by_itself() -> None:
    with loopback_allowed(), listening(answering(b"nonsense\r\n\r\n")) as peer:
        with pytest.raises(oauth.Transient):
            oauth.redeem(f"{peer.url}t", oauth.Client("a"), code="c", redirect_uri=CALLBACK, verifier=None)
        assert len(peer.heard) == 1


@pytest.mark.parametrize("url", ["https://10.0.0.1/token", "http://provider.example.com/token", "https://a.internal/t"])
def test_t36_secrets_do_not_go_to_inner_addresses(url: str) -> None:
    with loopback_allowed(), pytest.raises(oauth.ProviderError) as caught:
        oauth.redeem(url, oauth.Client("a", "s"), code="c", redirect_uri=CALLBACK, verifier=None)
    assert caught.value.code == "not_allowed"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Response(200), True),
        (Response(200, b"<html>", {"Content-Type": "text/html"}), True),
        (json_response({"error": "unsupported_token_type"}, 400), False),
        (json_response({"error": "invalid_token", "error_description": "Token expired or revoked"}, 400), True),
        (json_response({"error": "invalid_grant"}, 400), True),
        (json_response({"ok": False, "error": "token_revoked"}), True),
        (json_response({"error": "invalid_client"}, 401), oauth.ProviderError),
        (Response(404), oauth.ProviderError),
        (Response(503), oauth.Transient),
        (Response(429), oauth.Transient),
        (redirect("https://elsewhere.example.com"), oauth.ProviderError),
    ],
)
def test_t86_revocation_tells_done_from_later_from_never(provider: Provider, answer: Response, outcome: Any) -> None:
    provider.scripted["revoke"] = answer
    asked = (f"{provider.url}/revoke", client(provider))
    if isinstance(outcome, bool):
        assert oauth.revoke(*asked, token="t", hint="refresh_token") is outcome
        assert provider.seen("revoke")[0].form["token_type_hint"] == "refresh_token"
    else:
        with pytest.raises(outcome):
            oauth.revoke(*asked, token="t", hint="refresh_token")


def test_userinfo_is_asked_with_the_token_in_the_header(provider: Provider) -> None:
    tokens = redeem(provider)
    assert (
        oauth.userinfo(f"{provider.url}/userinfo", client(provider), access_token=tokens.access_token)["sub"] == "alice"
    )
    with pytest.raises(oauth.ProviderError):
        oauth.userinfo(f"{provider.url}/userinfo", client(provider), access_token="other")
    assert all(tokens.access_token not in str(request.query) for request in provider.seen("userinfo"))


@pytest.mark.parametrize(
    ("given", "expected", "required", "fine"),
    [
        (["https://op.example.com"], "https://op.example.com", True, True),
        (["https://op.example.com"], "https://op.example.com", False, True),
        ([], "https://op.example.com", False, True),
        ([], "https://op.example.com", True, False),
        (["https://op.example.com/"], "https://op.example.com", False, False),
        (["https://OP.example.com"], "https://op.example.com", False, False),
        (["https://evil.example.com"], "https://op.example.com", False, False),
        ([""], "https://op.example.com", False, False),
        (["https://op.example.com"] * 2, "https://op.example.com", False, False),
        (["https://op.example.com"], None, False, True),
        (["a", "b"], None, False, False),
    ],
)
def test_t20_the_issuer_of_an_answer_is_compared_exactly(
    given: list[str], expected: str | None, required: bool, fine: bool
) -> None:
    if fine:
        oauth.check_issuer(given, expected=expected, required=required)
    else:
        with pytest.raises(oauth.IssuerMismatch):
            oauth.check_issuer(given, expected=expected, required=required)


def test_t87_secrets_show_in_no_repr_and_no_message(provider: Provider) -> None:
    tokens = redeem(provider)
    shown = repr(tokens) + repr(client(provider))
    for secret in (provider.client_secret, tokens.access_token, tokens.refresh_token, tokens.id_token):
        assert secret
        assert secret not in shown


def test_words_of_the_other_side_are_made_visible() -> None:
    assert oauth.visible("a\r\n\tb\u202ec\x1b[31m\u200b \u00a0d", 100) == "a bc[31m d"
    assert oauth.visible("x" * 300, 200) == "x" * 199 + "…"
    assert oauth.visible(None, 10) == ""
    assert len(oauth.visible("\u202e" * 10_000 + "y", 200)) <= 200


def test_basic_credentials_are_form_encoded_first(provider: Provider) -> None:
    provider.client_id, provider.client_secret = "a:b", "c+d"
    redeem(provider)
    sent = provider.seen("token")[0].headers["authorization"].removeprefix("Basic ")
    assert base64.b64decode(sent) == b"a%3Ab:c%2Bd"


def test_scopes_are_named_in_a_refresh_only_when_given(provider: Provider) -> None:
    def fresh(request: Request) -> Response:
        return json_response({"access_token": "at", "token_type": "Bearer"})

    provider.scripted["token"] = fresh
    for scopes in ([], ["a", "b"]):
        oauth.refresh(f"{provider.url}/token", client(provider), refresh_token="r", scopes=scopes)
    assert [request.form.get("scope") for request in provider.seen("token")] == [None, "a b"]


def test_t35_what_proves_one_client_is_not_sent_for_another(provider: Provider) -> None:
    provider.scripted["token"] = json_response({"access_token": "a", "token_type": "bearer"})
    for asking in (client(provider), oauth.Client("public")):
        oauth.redeem(f"{provider.url}/token", asking, code="c", redirect_uri=CALLBACK, verifier=None)
        oauth.refresh(f"{provider.url}/token", asking, refresh_token="r")
    sent = ["authorization" in request.headers for request in provider.seen("token")]
    assert sent == [True, True, False, False]


def test_a_parameter_of_the_provider_is_never_taken_for_an_instruction(provider: Provider) -> None:
    provider.scripted["token"] = json_response({"access_token": "a", "token_type": "bearer"})
    odd = {"method": "GET", "url": "https://evil.example.com", "auth": "none", "headers": "x", "state": "s"}
    asking = oauth.Client("elicit", "s", quirks=oauth.Quirks(token_params=odd, refresh_params=odd))
    oauth.redeem(f"{provider.url}/token", asking, code="c", redirect_uri=CALLBACK, verifier=None)
    oauth.refresh(f"{provider.url}/token", asking, refresh_token="r")
    for request in provider.seen("token"):
        assert (request.method, request.form | odd) == ("POST", request.form)


@pytest.mark.parametrize("secret", ["s\u00e9cret!", 'a"b\\c/d', '\u00e9"&x', "plain-secret"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_t136_a_refusal_repeats_no_secret_however_it_is_written(
    provider: Provider, secret: str, ascii_only: bool
) -> None:
    said = {"error": "invalid_client", "error_description": f"not with {secret} please"}
    body = json.dumps(said, ensure_ascii=ascii_only).encode()
    provider.scripted["token"] = Response(400, body, {"Content-Type": "application/json"})
    asking = oauth.Client("elicit", secret, "client_secret_post")
    with pytest.raises(oauth.ProviderError) as refused:
        oauth.refresh(f"{provider.url}/token", asking, refresh_token="r")
    assert refused.value.said == "not with *** please"
