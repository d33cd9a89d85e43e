"""One sign-in against the double, and tokens made to measure."""

from __future__ import annotations

import json
from typing import Any

from joserfc.util import urlsafe_b64encode

from elicit_flows import identity
from elicit_flows.lib.oauth import new_verifier
from elicit_flows.values import Answer, Secret
from tests.doubles.provider import Provider

CALLBACK = "https://flows.example.com/login/corp/callback"
NONCE = "n0nce-of-this-sign-in"


def config(provider: Provider, max_age: int | None = None) -> identity.OpenIdProvider:
    secret = Secret(provider.client_secret) if provider.client_secret else None
    return identity.OpenIdProvider("corp", provider.issuer, provider.client_id, secret, max_age=max_age)


def sign_in(
    provider: Provider, *, nonce: str = NONCE, max_age: int | None = None, since: float | None = None
) -> identity.SignedIn:
    """Away and back, with ``nonce`` expected in the end."""
    op, verifier = config(provider, max_age), new_verifier()
    url = identity.begin(op, redirect_uri=CALLBACK, state="s", nonce=NONCE, verifier=verifier)
    return back(provider, provider.visit(url), nonce=nonce, verifier=verifier, max_age=max_age, since=since)


def back(
    provider: Provider,
    fields: dict[str, list[str]],
    *,
    verifier: str,
    nonce: str = NONCE,
    max_age: int | None = None,
    since: float | None = None,
) -> identity.SignedIn:
    return identity.finish(
        config(provider, max_age),
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
