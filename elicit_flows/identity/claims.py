"""What the ID token must say (OpenID Connect Core, section 3.1.3.7), as a table that fails closed.

Every rule is a function of the whole token: it returns a complaint, or None. The rules go beyond what the libraries
check: an exact leeway, an issuing time that makes sense, a subject that is there, no further audience.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import Any

from elicit_flows.identity import rules
from elicit_flows.identity.errors import SignInRefused, bad_token
from elicit_flows.identity.rules import LEEWAY, Basis, Rule, seconds
from elicit_flows.identity.signature import Signed, half_hash

MAX_AGE_OF_TOKEN = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(Basis):
    """``since``, in seconds since 1970: when the browser was sent to sign in. Its one audience is the client."""

    client_id: str
    nonce: str
    access_token: str = field(repr=False)
    max_age: int | None
    since: float


def check(token: Signed, expected: Expected) -> None:
    """Raises SignInRefused with the first complaint."""
    complaint = rules.complaint(RULES, token, expected)
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
    rules.issuer,
    rules.audience,
    _authorized_party,
    rules.expiry,
    rules.not_from_the_future,
    _issued,
    rules.not_before,
    _nonce,
    rules.subject,
    _access_token_hash,
)


def check_age(claims: dict[str, Any], max_age: int, *, now: float, since: float) -> None:
    """Counted to ``since``, the moment the browser left, so that time spent on the provider's pages does not make it
    stale. Raises SignInRefused.
    """
    at = seconds(claims.get("auth_time"))
    if at is None or at > now + LEEWAY:
        raise bad_token("it does not say when the sign-in was")
    if at + max_age + LEEWAY < since:
        raise SignInRefused("stale_login", "The sign-in at the identity provider is too long ago.")
