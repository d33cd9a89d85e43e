"""Who is in the browser: the claim that an identity provider vouched for, kept in the session in the database."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest

from elicit_flows.identity import SignedIn
from elicit_flows.lib import clock, ids
from elicit_flows.models import IdentityProvider
from elicit_flows.values import Claim

_KEY = "person"


@dataclass(frozen=True, slots=True)
class Person:
    """``browser`` is this session's own secret: what leaves from here must come back here."""

    claim: Claim
    label: str
    auth_time: int
    browser: str


def person(request: HttpRequest) -> Person | None:
    """Who is signed in, if the sign-in is as fresh as its identity provider asks for."""
    kept = request.session.get(_KEY)
    if kept is None:
        return None
    found = Person(Claim(kept["iss"], kept["sub"]), kept["label"], kept["auth_time"], kept["browser"])
    return found if _fresh(found) else None


def _fresh(found: Person) -> bool:
    row = IdentityProvider.objects.filter(issuer=found.claim.iss, enabled=True).first()
    if row is None:
        return False
    return row.max_age is None or clock.now().timestamp() - found.auth_time <= row.max_age


def sign_in(request: HttpRequest, signed_in: SignedIn) -> None:
    """A new session key; nothing of another person's session stays."""
    kept = request.session.get(_KEY)
    if kept is not None and Claim(kept["iss"], kept["sub"]) == signed_in.claim:
        browser = kept["browser"]
    else:
        browser = ids.token()
        request.session.flush()
    request.session.cycle_key()
    request.session[_KEY] = {
        "iss": signed_in.claim.iss,
        "sub": signed_in.claim.sub,
        "label": signed_in.label,
        "auth_time": signed_in.auth_time or int(clock.now().timestamp()),
        "browser": browser,
    }


def sign_out(request: HttpRequest) -> None:
    request.session.flush()
