"""The rules for an ID token (OpenID Connect Core, section 3.1.3.7). A token that breaks one is refused.

Each rule gets the whole token, and returns a complaint or None. The rules go beyond what the libraries check: an exact
leeway, a plausible issuing time, a subject, no further audience.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import Any

from elicit_flows.identity import jwt_claims
from elicit_flows.identity.errors import SignInRefused, bad_token
from elicit_flows.identity.jwt_claims import LEEWAY, Basis, Rule, seconds
from elicit_flows.identity.signature import Signed, half_hash

MAX_AGE_OF_TOKEN = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(Basis):
    """``since``: when the browser was sent to sign in, in seconds since 1970. The only audience is the client."""

    client_id: str
    nonce: str
    access_token: str = field(repr=False)
    max_age: int | None
    since: float


def check(token: Signed, expected: Expected) -> None:
    """Raise SignInRefused with the first complaint."""
    complaint = jwt_claims.complaint(RULES, token, expected)
    if complaint:
        raise bad_token(complaint)
    if expected.max_age is not None:
        check_age(token.claims, expected.max_age, now=expected.now, since=expected.since)


def _authorized_party(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    party = claims.get("azp", expected.client_id)
    return None if party == expected.client_id else "it was issued to somebody else"


def _issued(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    issued = seconds(claims.get("iat")) or 0
    return "it was issued long ago" if issued + MAX_AGE_OF_TOKEN + LEEWAY < expected.now else None


def _nonce(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    given = claims.get("nonce")
    same = isinstance(given, str) and hmac.compare_digest(given.encode(), expected.nonce.encode())
    return None if same and expected.nonce else "it does not answer this sign-in"


def _access_token_hash(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    if "at_hash" not in claims:
        return None
    given, made = claims["at_hash"], half_hash(token.algorithm, expected.access_token)
    same = isinstance(given, str) and hmac.compare_digest(given.encode(), made.encode())
    return None if same else "it belongs to another access token"


RULES: tuple[Rule, ...] = (
    jwt_claims.issuer,
    jwt_claims.audience,
    _authorized_party,
    jwt_claims.expiry,
    jwt_claims.not_from_the_future,
    _issued,
    jwt_claims.not_before,
    _nonce,
    jwt_claims.subject,
    _access_token_hash,
)


def check_age(claims: dict[str, Any], max_age: int, *, now: float, since: float) -> None:
    """Check that the sign-in is recent enough. Raises SignInRefused.

    The age is counted to ``since``, when the browser left, so that time on the provider's pages does not count.
    """
    at = seconds(claims.get("auth_time"))
    if at is None or at > now + LEEWAY:
        raise bad_token("it does not say when the person signed in")
    if at + max_age + LEEWAY < since:
        raise SignInRefused("stale_login", "The sign-in at the identity provider was too long ago.")
