"""Who is in the browser: the claim that an identity provider vouched for, kept in the session in the database."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest

from elicit_flows import flow, identity, members, vault
from elicit_flows.errors import ProviderUnavailable
from elicit_flows.identity import SignedIn
from elicit_flows.lib import clock, ids
from elicit_flows.models import IdentityProvider
from elicit_flows.values import Claim

log = logging.getLogger(__name__)
Sort = IdentityProvider.Sort
_KEY = "person"
SIGN_INS = "signins"  # those that this session has under way
# A sign-in counts this long, however small the max_age: seconds to read the page and press the button.
TIME_TO_ACT = 60


@dataclass(frozen=True, slots=True)
class Person:
    """``browser`` is this session's own secret: what leaves from here must come back here."""

    claim: Claim
    label: str
    auth_time: int
    browser: str


def person(request: HttpRequest) -> Person | None:
    """Who is signed in, if the sign-in is as fresh as its identity provider asks for."""
    found, row = _kept(request)
    if found is None or row is None:
        return None
    stale = row.max_age is not None and clock.now().timestamp() - found.auth_time > max(row.max_age, TIME_TO_ACT)
    return None if stale else found


def returning(request: HttpRequest) -> Person | None:
    """Who is signed in, for the way back from a provider: the button has asked for freshness, the way may take long."""
    return _kept(request)[0]


def _kept(request: HttpRequest) -> tuple[Person, IdentityProvider] | tuple[None, None]:
    kept = request.session.get(_KEY)
    if kept is None:
        return None, None
    row = IdentityProvider.objects.filter(issuer=kept["iss"], enabled=True).first()
    if row is None:
        return None, None
    found = Person(Claim(kept["iss"], kept["sub"]), kept["label"], kept["auth_time"], kept["browser"])
    if kept.get("epoch", "") != flow.epoch(found.claim):  # they signed out everywhere after this session began
        request.session.flush()
        return None, None
    if row.sort == Sort.ACCOUNTS and members.find(found.claim.sub) is None:
        return None, None
    return (found, row) if row.sort != Sort.PROXY or _still_there(request, row, found.claim) else (None, None)


def _still_there(request: HttpRequest, row: IdentityProvider, claim: Claim) -> bool:
    """Behind a proxy every request says who it is: a session does not outlive that person's."""
    try:
        if identity.proxy.read(vault.proxy(row), request.headers.get(row.header, "")).claim == claim:
            return True
    except ProviderUnavailable:
        return False  # for now: its keys cannot be had
    except identity.SignInRefused as refused:
        log.info("a session behind %s ends: %s", row.slug, refused)
    request.session.flush()
    return False


def sign_in(request: HttpRequest, signed_in: SignedIn) -> None:
    """A new session key; nothing of another person's session stays. It ends at a fixed time, used or not."""
    kept = request.session.get(_KEY)
    if kept is not None and Claim(kept["iss"], kept["sub"]) == signed_in.claim:
        browser = kept["browser"]
    else:
        # What nobody in particular began goes on: a second tab may be at the identity provider as well.
        under_way = request.session.get(SIGN_INS, []) if kept is None else []
        browser = ids.token()
        request.session.flush()
        request.session[SIGN_INS] = under_way
    request.session.cycle_key()
    request.session[_KEY] = {
        "iss": signed_in.claim.iss,
        "sub": signed_in.claim.sub,
        "label": signed_in.label,
        "auth_time": signed_in.auth_time or int(clock.now().timestamp()),
        "browser": browser,
        "epoch": flow.epoch(signed_in.claim),
    }
    request.session.set_expiry(clock.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))


def sign_out(request: HttpRequest) -> None:
    request.session.flush()


def sign_out_everywhere(request: HttpRequest, me: Person) -> None:
    """This session, and at their next request all others of the same person."""
    flow.end_sessions(me.claim)
    sign_out(request)
