"""Access tokens that name the caller of a gateway on HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import jwt
from mcp.server.auth.provider import AccessToken

ALGORITHMS = ["RS256", "ES256"]


class SignedTokens:
    """Accepts access tokens that are JWTs of one issuer, for this gateway only (RFC 9068).

    The issuer's keys are read at the first token. Their address is in its OpenID configuration.
    """

    def __init__(self, issuer: str, resource: str) -> None:
        self._issuer, self._resource = issuer, resource
        self._keys: jwt.PyJWKClient | None = None

    async def verify_token(self, token: str) -> AccessToken | None:
        """Called by the library. None refuses the token."""
        try:
            claims = await asyncio.to_thread(self._read, token)
        except (jwt.PyJWTError, httpx2.HTTPError, KeyError):
            return None
        client, scopes = str(claims.get("client_id", "")), str(claims.get("scope", "")).split()
        return AccessToken(
            token=token, client_id=client, scopes=scopes, subject=claims["sub"], claims=claims, expires_at=claims["exp"]
        )

    def _read(self, token: str) -> dict[str, Any]:
        if self._keys is None:
            found = httpx2.get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration").raise_for_status().json()
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
