"""Access tokens that name the caller of a gateway on HTTP."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx2
import jwt
from mcp.server.auth.provider import AccessToken

from elicit_flows.sdk.gateway.config import is_private_address

log = logging.getLogger(__name__)
ALGORITHMS = ["RS256", "ES256"]


class SignedTokens:
    """Accepts access tokens that are JWTs of one issuer, for this gateway only (RFC 9068).

    The issuer's keys are read at the first token, and at most every 30 seconds if one names a key that is not among
    them. Their address is in its OpenID configuration.
    """

    def __init__(self, issuer: str, resource: str) -> None:
        self._issuer, self._resource = issuer, resource
        self._keys: jwt.PyJWKClient | None = None

    async def verify_token(self, token: str) -> AccessToken | None:
        """Called by the library. None refuses the token."""
        try:
            claims = await asyncio.to_thread(self._read, token)
        except (jwt.PyJWKClientConnectionError, httpx2.HTTPError, KeyError, TypeError, ValueError) as wrong:
            # A ValueError is what is no JSON.
            log.warning("the keys of %s cannot be read: %s: %s", self._issuer, type(wrong).__name__, wrong)
            return None
        except jwt.PyJWTError:
            return None
        client, scopes = str(claims.get("client_id", "")), str(claims.get("scope", "")).split()
        return AccessToken(
            token=token, client_id=client, scopes=scopes, subject=claims["sub"], claims=claims, expires_at=claims["exp"]
        )

    def _read(self, token: str) -> dict[str, Any]:
        if self._keys is None:
            found = httpx2.get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration").raise_for_status().json()
            if found["issuer"] != self._issuer:  # OpenID Connect Discovery, section 4.3
                raise ValueError(f"The configuration is that of {found['issuer']}.")
            if not is_private_address(found["jwks_uri"]):
                raise ValueError(f"{found['jwks_uri']} is not on https.")
            self._keys = jwt.PyJWKClient(found["jwks_uri"])
        key = self._keys.get_signing_key_from_jwt(token)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            ALGORITHMS,
            issuer=self._issuer,
            audience=self._resource,
            options={"require": ["exp", "iss", "sub", "aud"]},
        )
        return claims
