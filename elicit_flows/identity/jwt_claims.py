"""JWT claim checks shared by all ways of signing in (RFC 7519, section 4.1).

Each rule gets the whole token, and returns a complaint or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from elicit_flows.domain.values import MAX_SUBJECT
from elicit_flows.identity.signature import Signed

LEEWAY = 60

Rule = Callable[[dict[str, Any], Signed, Any], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a token is compared with. ``now`` is in seconds since 1970; ``audiences``: the audiences that mean this
    service.
    """

    issuer: str
    audiences: tuple[str, ...]
    now: float


def complaint(rules: Iterable[Rule], token: Signed, expected: Basis) -> str | None:
    """The first complaint, or None."""
    return next((said for rule in rules if (said := rule(token.claims, token, expected))), None)


def issuer(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    return None if claims.get("iss") == expected.issuer else "it is from another issuer"


def audience(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    """The token is for us and for nobody else."""
    meant = names(claims.get("aud"))
    return None if meant and set(meant) <= set(expected.audiences) else "it has another audience"


def among_audiences(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    """The token is for us, and may be for others too (RFC 9068, section 4)."""
    return None if set(names(claims.get("aud"))) & set(expected.audiences) else "it has another audience"


def expiry(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    end = seconds(claims.get("exp"))
    return None if end is not None and end + LEEWAY >= expected.now else "it has expired"


def not_before(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    if "nbf" not in claims:
        return None
    start = seconds(claims["nbf"])
    return None if start is not None and start <= expected.now + LEEWAY else "it is not valid yet"


def not_from_the_future(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    issued = seconds(claims.get("iat"))
    return None if issued is not None and issued <= expected.now + LEEWAY else "it was issued in the future"


def subject(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    found = claims.get("sub")
    if not isinstance(found, str) or not 0 < len(found) <= MAX_SUBJECT or "\x00" in found:
        return "it has no valid subject"
    return None


def names(value: object) -> tuple[str, ...]:
    """An audience given as one name or as a list of names; empty for anything else."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    return tuple(listed) if all(isinstance(one, str) for one in listed) else ()


def seconds(value: object) -> float | None:
    """A time in seconds since 1970, from a JSON number; None for True and for numbers beyond the calendar."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and abs(value) < 1e12 else None  # type: ignore[arg-type]


# The rules for every token about the person in the browser, except ID tokens, which have stricter ones.
WORD: tuple[Rule, ...] = (issuer, audience, expiry, not_before, not_from_the_future, subject)
