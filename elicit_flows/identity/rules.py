"""What any token about a person has to say, whoever sends it (RFC 7519, section 4.1).

Every rule is a function of the whole token: it returns a complaint, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from elicit_flows.identity.signature import Signed

LEEWAY = 60
MAX_SUBJECT = 255

Rule = Callable[[dict[str, Any], Signed, Any], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """``now`` in seconds since 1970; ``audiences``: the names under which the token may be meant for us."""

    issuer: str
    audiences: tuple[str, ...]
    now: float


def complaint(rules: Iterable[Rule], token: Signed, expected: Basis) -> str | None:
    """The first there is."""
    return next((said for rule in rules if (said := rule(token.claims, token, expected))), None)


def issuer(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    return None if claims.get("iss") == expected.issuer else "it is from another issuer"


def audience(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    """Meant for us and for nobody else."""
    meant = names(claims.get("aud"))
    return None if meant and set(meant) <= set(expected.audiences) else "it is meant for somebody else"


def among_audiences(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    """Meant for us, perhaps for others too (RFC 9068, section 4)."""
    return None if set(names(claims.get("aud"))) & set(expected.audiences) else "it is meant for somebody else"


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
    return None if issued is not None and issued <= expected.now + LEEWAY else "it comes from the future"


def subject(claims: dict[str, Any], token: Signed, expected: Basis) -> str | None:
    found = claims.get("sub")
    if not isinstance(found, str) or not 0 < len(found) <= MAX_SUBJECT or "\x00" in found:
        return "it names nobody"
    return None


def names(value: object) -> tuple[str, ...]:
    """An audience as one name or as a list of names; anything else is none."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    return tuple(listed) if all(isinstance(one, str) for one in listed) else ()


def seconds(value: object) -> float | None:
    """A time in seconds since 1970 as a JSON number; True is not one, nor is a number beyond the calendar."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and abs(value) < 1e12 else None  # type: ignore[arg-type]


# What has to hold of any word for who is in the browser, but for an ID token, whose audience has rules of its own.
WORD: tuple[Rule, ...] = (issuer, audience, expiry, not_before, not_from_the_future, subject)
