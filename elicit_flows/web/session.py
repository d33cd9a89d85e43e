"""Who is signed in: the identity claim, stored in the session in the database."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet, Subquery
from django.http import HttpRequest
from django.utils.translation import get_language

from elicit_flows import identity, people, vault
from elicit_flows.domain.errors import ProviderUnavailable
from elicit_flows.domain.values import Claim, Json
from elicit_flows.identity import SignedIn
from elicit_flows.lib import clock, ids
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import IdentityProvider, SignOut
from elicit_flows.people import contacts, local_accounts
from elicit_flows.web import browsers
from elicit_flows.web.session_store import stored_key

log = logging.getLogger(__name__)
Sort = IdentityProvider.Sort
_KEY = "person"
SIGN_INS = "signins"  # the sign-ins that this session has under way
# Seconds for which a sign-in is valid even if max_age is smaller: time to read the page and press the button.
TIME_TO_ACT = 60
MOST_LISTED = 50  # sessions of one person; all can be ended at once
FRESH = 300  # seconds after a sign-in in which actions are allowed that a stolen session must not be enough for


def _signed_in_by(iss: str, sub: str) -> QuerySet[IdentityProvider]:
    epoch = SignOut.objects.filter(iss=iss, sub=sub).values("epoch")
    return IdentityProvider.objects.filter(issuer=iss, enabled=True).annotate(epoch=Subquery(epoch))


_SIGNED_IN_BY = CompiledQuery(_signed_in_by, "iss", "sub")  # each page of a person asks this


@dataclass(frozen=True, slots=True)
class Person:
    """``browser`` is this session's own secret: what leaves from this browser must come back to it.

    ``at`` is when they signed in here, ``auth_time`` when they did at their identity provider, both in seconds since
    1970.
    """

    claim: Claim
    label: str
    auth_time: int
    browser: str
    at: int = 0

    @property
    def fresh(self) -> bool:
        """Whether they have just signed in, which a person who took over a session has not."""
        return clock.now().timestamp() - self.at <= FRESH


class SignInNeeded(Exception):
    """Nobody is signed in. ``following``: where to continue afterwards, if not at the requested page."""

    def __init__(self, following: str = "") -> None:
        super().__init__("Nobody is signed in.")
        self.following = following


def signed_in(request: HttpRequest, following: str = "") -> Person:
    """The signed-in person. Raises SignInNeeded, which pages.errors_as_pages turns into the sign-in page."""
    found = person(request)
    if found is None:
        raise SignInNeeded(following)
    return found


def person(request: HttpRequest, *, on_the_way_back: bool = False) -> Person | None:
    """The signed-in person, if the sign-in is as recent as its identity provider requires.

    ``on_the_way_back`` from a provider, an older one will do: it was recent at the button, and the way may take long.
    """
    if _KEY not in request.session:
        return None
    kept = request.session[_KEY]
    claim = Claim(kept["iss"], kept["sub"])
    row = _SIGNED_IN_BY.first(claim.iss, claim.sub)
    if row is None:
        return None
    # They signed out everywhere after this session began.
    if kept.get("epoch", "") != (getattr(row, "epoch") or ""):  # noqa: B009  annotated above
        request.session.flush()
        return None
    left = row.sort == Sort.ACCOUNTS and local_accounts.find(claim.sub) is None
    if left or (row.sort == Sort.PROXY and not _still_there(request, row, claim)):
        return None
    most = None if on_the_way_back or row.max_age is None else max(row.max_age, TIME_TO_ACT)
    stale = most is not None and clock.now().timestamp() - kept["auth_time"] > most
    return None if stale else Person(claim, kept["label"], kept["auth_time"], kept["browser"], kept.get("at", 0))


def _still_there(request: HttpRequest, row: IdentityProvider, claim: Claim) -> bool:
    """Whether the proxy still names this person, as it does with every request behind a proxy. If not, the session
    ends.
    """
    try:
        if identity.proxy.read(vault.proxy(row), request.headers.get(row.header, "")).claim == claim:
            return True
    except ProviderUnavailable:
        return False  # for now, because its keys cannot be fetched
    except identity.SignInRefused as refused:
        log.info("a session behind %s ends: %s", row.slug, refused)
    request.session.flush()
    return False


def sign_in(request: HttpRequest, signed_in: SignedIn) -> None:
    """Sign the person in under a new session key, without anything of another person's session. It ends at a fixed
    time.
    """
    kept = request.session.get(_KEY)
    if kept is not None and Claim(kept["iss"], kept["sub"]) == signed_in.claim:
        browser = kept["browser"]
    else:
        # Keep sign-ins that were begun anonymously: a second tab may be at the identity provider as well.
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
        "at": int(clock.now().timestamp()),
        "epoch": people.session_epoch(signed_in.claim),
    }
    request.session.set_expiry(clock.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))
    note_use(request, signed_in.claim)
    contacts.remember(signed_in, get_language() or settings.ELICIT_LANGUAGE)


def note_use(request: HttpRequest, claim: Claim) -> None:
    """Note that the person does something in this session, for their list of sessions."""
    people.note_session(claim, stored_key(request.session.session_key), *browsers.named(request.headers))


def anonymous(request: HttpRequest) -> bool:
    """Whether nobody is signed in in this session."""
    return _KEY not in request.session


def sign_out(request: HttpRequest) -> None:
    request.session.flush()


def sign_out_everywhere(request: HttpRequest, me: Person) -> None:
    """End this session at once, and the person's other sessions at their next request."""
    people.end_sessions(me.claim)
    sign_out(request)


def sign_out_elsewhere(request: HttpRequest, me: Person) -> None:
    """End the person's other sessions at their next request; this one continues in the new epoch."""
    people.end_sessions(me.claim)
    request.session[_KEY] = {**request.session[_KEY], "epoch": people.session_epoch(me.claim)}
    note_use(request, me.claim)


def listed(request: HttpRequest, me: Person) -> list[Json]:
    """Where the person is signed in, this browser first: ``[{id, browser, system, began_at, used_at, here}]``."""
    here = stored_key(request.session.session_key)
    rows = people.sessions_of(me.claim)[:MOST_LISTED]
    names = ("id", "browser", "system", "began_at", "used_at")
    found = [{name: getattr(row, name) for name in names} | {"here": row.session_id == here} for row in rows]
    return sorted(found, key=lambda one: not one["here"])
