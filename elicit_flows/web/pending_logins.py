"""Sign-ins that are under way. What each needs is sealed into the session that began it, under its single-use state."""

from __future__ import annotations

from django.http import HttpRequest

from elicit_flows import vault
from elicit_flows.domain.errors import BadCallback, TooMany
from elicit_flows.domain.values import Json
from elicit_flows.lib import clock, rate_limits
from elicit_flows.web import session

STATE_SECONDS = 600
MAX_OPEN = 5  # sign-ins that one session may have under way at once


def check_number(request: HttpRequest) -> None:
    """Count one more sign-in. Raises TooMany."""
    if not rate_limits.SIGN_INS.hit_from(request.META["REMOTE_ADDR"]):
        raise TooMany("Too many sign-ins were started from your network. Try again in a minute.", retry_after=60)
    if not rate_limits.ALL_SIGN_INS.hit():
        raise TooMany("Too many sign-ins are being started. Try again in a minute.", retry_after=60)


def keep(request: HttpRequest, slug: str, state_hash: str, following: str, stash: Json) -> None:
    begun = {
        "slug": slug,
        "next": following,
        "state_hash": state_hash,
        "stash": vault.seal_stash(stash, state_hash),
        "at": clock.now().timestamp(),
    }
    request.session[session.SIGN_INS] = [*request.session.get(session.SIGN_INS, []), begun][-MAX_OPEN:]
    if session.anonymous(request):  # the session of a person who does not come back expires soon
        request.session.set_expiry(STATE_SECONDS)


def take(request: HttpRequest, slug: str, state_hash: str) -> Json:
    """What this session stored under the state, once. Raises BadCallback."""
    begun = request.session.get(session.SIGN_INS, [])
    found = [item for item in begun if item["state_hash"] == state_hash and item["slug"] == slug]
    if not found or clock.now().timestamp() - found[0]["at"] > STATE_SECONDS:
        raise BadCallback("This sign-in was started in another browser, or too long ago. Open your link again.")
    request.session[session.SIGN_INS] = [item for item in begun if item["state_hash"] != state_hash]
    kept: Json = found[0]
    return kept


def hashes(request: HttpRequest, slug: str) -> list[str]:
    """The hashed states of this session's sign-ins at one identity provider."""
    return [item["state_hash"] for item in request.session.get(session.SIGN_INS, []) if item["slug"] == slug]


def newest(request: HttpRequest, slug: str) -> Json:
    """What the latest sign-in stored, to be shown again. Raises BadCallback."""
    begun = [item for item in request.session.get(session.SIGN_INS, []) if item["slug"] == slug]
    if not begun or clock.now().timestamp() - begun[-1]["at"] > STATE_SECONDS:
        raise BadCallback("This sign-in was started in another browser, or too long ago. Open your link again.")
    kept: Json = vault.open_stash(begun[-1]["stash"], begun[-1]["state_hash"])
    return kept
