"""Proving who we are with a private key instead of a shared secret (RFC 7523, section 2.2)."""

from __future__ import annotations

import secrets
import time
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from elicit_flows.lib.http import strict
from elicit_flows.lib.oauth.errors import ProviderError

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LIFE = 60

_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


def sign(client_id: str, key: str, issuer: str | None) -> str:
    """A fresh assertion for the server ``issuer``. ``key`` is a PEM or a JWK. Raises ProviderError for a bad set-up.

    The audience is the issuer alone, as one string: naming an endpoint, or several audiences, lets one server replay
    the assertion at another.
    """
    if issuer is None:
        raise ProviderError("not_allowed", "private_key_jwt needs the provider's issuer.")
    private = _load(key)
    now = int(time.time())
    header = {"alg": _algorithm(private), "typ": "JWT"} | ({"kid": private.kid} if private.kid else {})
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "jti": secrets.token_urlsafe(24),
        "iat": now,
        "exp": now + LIFE,
    }
    return jwt.encode(header, claims, private, algorithms=[header["alg"]])


def public_key(key: str) -> dict[str, Any]:
    """The public half of a private key, PEM or JWK, as a JWK. Raises ProviderError for a key that is none."""
    private = _load(key)
    return {**private.as_dict(private=False), "use": "sig", "alg": _algorithm(private)}


def _load(key: str) -> RSAKey | ECKey:
    data = strict.loads(key) if key.lstrip().startswith("{") else key
    for kind in (RSAKey, ECKey):
        try:
            loaded = kind.import_key(data)
        except (JoseError, ValueError, TypeError):
            continue
        if loaded.is_private:
            return loaded
    raise ProviderError("not_allowed", "The private key of private_key_jwt cannot be read.")


def _algorithm(key: RSAKey | ECKey) -> str:
    return "RS256" if isinstance(key, RSAKey) else _CURVES[key.curve_name]
