"""Sign-ins against the double, with tokens that a test can change."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from joserfc.util import urlsafe_b64encode

from elicit_flows import identity
from elicit_flows.domain.values import Answer, Secret
from elicit_flows.oauth import new_verifier
from tests.doubles.provider import SIGNING, Provider
from tests.doubles.server import json_response

CALLBACK = "https://flows.example.com/login/corp/callback"
NONCE = "n0nce-of-this-sign-in"
ACCESS = "access-token"


def config(
    provider: Provider, max_age: int | None = None, scopes: tuple[str, ...] = ("openid",)
) -> identity.OpenIdProvider:
    secret = Secret(provider.client_secret) if provider.client_secret else None
    return identity.OpenIdProvider("corp", provider.issuer, provider.client_id, secret, scopes, max_age)


def sign_in(
    provider: Provider,
    *,
    nonce: str = NONCE,
    max_age: int | None = None,
    since: float | None = None,
    scopes: tuple[str, ...] = ("openid",),
) -> identity.SignedIn:
    """Away and back, with ``nonce`` expected in the end."""
    op, verifier = config(provider, max_age, scopes), new_verifier()
    url = identity.begin(op, redirect_uri=CALLBACK, state="s", nonce=NONCE, verifier=verifier)
    return back(
        provider, provider.visit(url), nonce=nonce, verifier=verifier, max_age=max_age, since=since, scopes=scopes
    )


def back(
    provider: Provider,
    fields: dict[str, list[str]],
    *,
    verifier: str,
    nonce: str = NONCE,
    max_age: int | None = None,
    since: float | None = None,
    scopes: tuple[str, ...] = ("openid",),
) -> identity.SignedIn:
    return identity.finish(
        config(provider, max_age, scopes),
        redirect_uri=CALLBACK,
        answer=Answer(fields),
        nonce=nonce,
        verifier=verifier,
        since=since,
    )


def unsigned(header: dict[str, Any], payload: bytes, signature: bytes = b"") -> str:
    """A token put together by hand."""
    parts = (json.dumps(header).encode(), payload, signature)
    return ".".join(urlsafe_b64encode(part).decode() for part in parts)


def scripted(provider: Provider, token: str) -> None:
    """The token endpoint answers with a token of the test's own making."""
    provider.scripted["token"] = json_response({"access_token": ACCESS, "token_type": "Bearer", "id_token": token})


def refused(provider: Provider) -> None:
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(provider)
    assert caught.value.code == "bad_id_token"


def payload(provider: Provider, **changes: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {"iss": provider.issuer, "aud": provider.client_id, "sub": "alice", "iat": now, "exp": now + 300}
    return usual | {"nonce": NONCE} | changes


def by_hand(header: bytes, body: bytes) -> str:
    """Signed properly with RS256, whatever is in it."""
    text = urlsafe_b64encode(header) + b"." + urlsafe_b64encode(body)
    proof = SIGNING.get_op_key("sign").sign(text, padding.PKCS1v15(), hashes.SHA256())
    return f"{text.decode()}.{urlsafe_b64encode(proof).decode()}"
