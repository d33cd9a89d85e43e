"""What the ID token must say (OpenID Connect Core, section 3.1.3.7), as a table that fails closed.

Every rule is a function of the whole token: it returns a complaint, or None. The rules go beyond what the libraries
check: an exact leeway, an issuing time that makes sense, a subject that is there, no further audience.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from elicit_flows.identity.errors import SignInRefused, bad_token
from elicit_flows.identity.signature import Signed, half_hash

LEEWAY = 60
MAX_AGE_OF_TOKEN = 600
MAX_SUBJECT = 255


@dataclass(frozen=True, slots=True)
class Expected:
    """``now`` and ``since`` in seconds since 1970; ``since``: when the browser was sent to sign in."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str = field(repr=False)
    max_age: int | None
    now: float
    since: float


def check(token: Signed, expected: Expected) -> None:
    """Raises SignInRefused with the first complaint."""
    for rule in RULES:
        complaint = rule(token.claims, token, expected)
        if complaint:
            raise bad_token(complaint)
    if expected.max_age is not None:
        _check_age(token.claims, expected, expected.max_age)


def _issuer(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    return None if claims.get("iss") == expected.issuer else "it is from another issuer"


def _audience(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    audience = claims.get("aud")
    mine = audience in (expected.client_id, [expected.client_id])
    return None if mine else "it is meant for somebody else"


def _authorized_party(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    party = claims.get("azp", expected.client_id)
    return None if party == expected.client_id else "it was issued to somebody else"


def _expiry(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    expiry = seconds(claims.get("exp"))
    return None if expiry is not None and expiry + LEEWAY >= expected.now else "it has expired"


def _issued(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    issued = seconds(claims.get("iat"))
    if issued is None or issued > expected.now + LEEWAY:
        return "it comes from the future"
    return "it was issued long ago" if issued + MAX_AGE_OF_TOKEN + LEEWAY < expected.now else None


def _not_before(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    if "nbf" not in claims:
        return None
    start = seconds(claims["nbf"])
    return None if start is not None and start <= expected.now + LEEWAY else "it is not valid yet"


def _nonce(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    given = claims.get("nonce")
    same = isinstance(given, str) and hmac.compare_digest(given.encode(), expected.nonce.encode())
    return None if same and expected.nonce else "it does not answer this sign-in"


def _subject(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT or "\x00" in subject:
        return "it names nobody"
    return None


def _access_token_hash(claims: dict[str, Any], token: Signed, expected: Expected) -> str | None:
    if "at_hash" not in claims:
        return None
    given, made = claims["at_hash"], half_hash(token.algorithm, expected.access_token)
    same = isinstance(given, str) and hmac.compare_digest(given.encode(), made.encode())
    return None if same else "it belongs to another access token"


RULES: tuple[Callable[[dict[str, Any], Signed, Expected], str | None], ...] = (
    _issuer,
    _audience,
    _authorized_party,
    _expiry,
    _issued,
    _not_before,
    _nonce,
    _subject,
    _access_token_hash,
)


def _check_age(claims: dict[str, Any], expected: Expected, max_age: int) -> None:
    """Counted to the moment the browser left, so that time spent on the provider's pages does not make it stale."""
    at = seconds(claims.get("auth_time"))
    if at is None or at > expected.now + LEEWAY:
        raise bad_token("it does not say when the sign-in was")
    if at + max_age + LEEWAY < expected.since:
        raise SignInRefused("stale_login", "The sign-in at the identity provider is too long ago.")


def seconds(value: object) -> float | None:
    """A time in seconds since 1970 as a JSON number; True is not one, nor is a number beyond the calendar."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and abs(value) < 1e12 else None  # type: ignore[arg-type]
