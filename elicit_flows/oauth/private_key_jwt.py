"""private_key_jwt: the client authenticates with an assertion that it signs (RFC 7523, section 2.2)."""

from __future__ import annotations

import time
from typing import Any

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc7523 import PrivateKeyJWT, private_key_jwt_sign
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from elicit_flows.http import strict_json
from elicit_flows.oauth.errors import ProviderError

LIFE = 60  # seconds for which an assertion is valid

_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


class IssuerAssertion(PrivateKeyJWT):
    """private_key_jwt (RFC 7523, section 2.2) with the server's issuer as its audience."""

    def sign(self, auth: ClientAuth, token_endpoint: str) -> str:
        return sign(auth.client_id, auth.client_secret or "", self.token_endpoint)


def sign(client_id: str, key: str, issuer: str | None) -> str:
    """A new assertion for the server ``issuer``, valid for a minute. ``key`` is a PEM or a JWK.

    The audience is the issuer alone, as one string: an endpoint, or several audiences, would let one server replay the
    assertion at another. Raises ProviderError if the key or the issuer is missing or wrong.
    """
    if issuer is None:
        raise ProviderError("not_allowed", "private_key_jwt needs the provider's issuer.")
    private = load_private_key(key)
    # Authlib's default lifetime is an hour. The claims must be a new dict each time, because Authlib writes the
    # ``jti`` into it.
    assertion: str = private_key_jwt_sign(
        private,
        client_id=client_id,
        token_endpoint=issuer,
        alg=algorithm_of(private),
        claims={"exp": int(time.time()) + LIFE},
        header={"typ": "JWT"} | ({"kid": private.kid} if private.kid else {}),
    )
    return assertion


def public_key(key: str) -> dict[str, Any]:
    """The public key of a private key (PEM or JWK), as a JWK. Raises ProviderError if it cannot be read."""
    private = load_private_key(key)
    return {**private.as_dict(private=False), "use": "sig", "alg": algorithm_of(private)}


def load_private_key(key: str) -> RSAKey | ECKey:
    """The key in a PEM or a JWK. Raises ProviderError if it cannot be read."""
    data = strict_json.loads(key) if key.lstrip().startswith("{") else key
    for kind in (RSAKey, ECKey):
        try:
            loaded = kind.import_key(data)
        except (JoseError, ValueError, TypeError):
            continue
        if loaded.is_private:
            return loaded
    raise ProviderError("not_allowed", "The private key cannot be read.")


def algorithm_of(key: RSAKey | ECKey) -> str:
    """The JWS algorithm that fits the key."""
    return "RS256" if isinstance(key, RSAKey) else _CURVES[key.curve_name]
