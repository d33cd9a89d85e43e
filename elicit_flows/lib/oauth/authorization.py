"""The front channel: the URL the browser is sent to, and whether the answer comes from the one that was asked."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from elicit_flows.lib.oauth.errors import IssuerMismatch


def new_verifier() -> str:
    """A fresh PKCE code verifier: 64 characters, 384 random bits (RFC 7636, section 4.1)."""
    return secrets.token_urlsafe(48)


def authorization_url(
    endpoint: str,
    *,
    client_id: str,
    redirect_uri: str,
    scopes: Iterable[str],
    state: str,
    verifier: str | None,
    **extra: str | list[str] | None,
) -> str:
    """Where to send the browser (RFC 6749, section 4.1.1), with PKCE S256 unless ``verifier`` is None.

    ``extra`` are further parameters (nonce, prompt, max_age); those that are None are left out, a list is repeated.
    """
    pkce: dict[str, str] = {}
    if verifier is not None:
        challenge: str = create_s256_code_challenge(verifier)
        pkce = {"code_challenge": challenge, "code_challenge_method": "S256"}
    url: str = prepare_grant_uri(
        endpoint,
        client_id=client_id,
        response_type="code",
        redirect_uri=redirect_uri,
        scope=" ".join(scopes),
        state=state,
        **pkce,
        **extra,
    )
    return url


def check_issuer(given: Sequence[str], *, expected: str | None, required: bool) -> None:
    """Raises IssuerMismatch unless the ``iss`` parameters of an answer are right (RFC 9207, section 2.4).

    Compared as strings, nothing folded. ``expected`` None: the provider has no issuer that could be compared.
    """
    if not given and not required:
        return
    if len(given) != 1 or (expected is not None and given[0] != expected):
        raise IssuerMismatch("The answer does not come from the provider that was asked.")
