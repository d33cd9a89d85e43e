"""An invited person's first passkey, and the passkeys that they add and remove later."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from elicit_flows import identity, members, vault
from elicit_flows.errors import Forbidden, NotFound
from elicit_flows.lib import clock, ids
from elicit_flows.models import IdentityProvider, Member
from elicit_flows.values import Json
from elicit_flows.web import pages, session, under_way
from elicit_flows.web.passkeys import ACCOUNTS, ask, known, place

NEW = ":new"  # beside the slugs of sign-ins: none has a colon
FRESH = 300  # seconds since the sign-in, for whoever changes what they sign in with


@require_http_methods(["GET", "HEAD", "POST"])
@pages.says_why
def invitation(request: HttpRequest) -> HttpResponse:
    """The token stands behind the # of the link, where no server and no log sees it; the page's script sends it."""
    _accounts()
    if request.method != "POST":
        return render(request, "connect/invitation.html")
    row = members.invited(request.POST.get("invitation", ""))
    return _to_make(request, row.member, {"invitation": row.token_hash})


@require_POST
@pages.says_why
def new(request: HttpRequest) -> HttpResponse:
    """Another passkey for whoever has just signed in."""
    return _to_make(request, _member(request), {"invitation": ""})


@require_http_methods(["GET", "HEAD", "POST"])
@pages.says_why
def passkeys(request: HttpRequest) -> HttpResponse:
    """Shows them; takes a new one."""
    if request.method == "POST":
        return _keep(request)
    me = session.person(request)
    member = _of(me)
    if me is None or member is None:
        return pages.signin(request, "/account/passkeys", choices=[_choice()])
    return render(request, "account/passkeys.html", {"me": me, "passkeys": member.passkeys.order_by("created_at")})


@require_POST
@pages.says_why
def remove(request: HttpRequest, passkey_id: int) -> HttpResponse:
    members.remove(_member(request), passkey_id)
    return pages.SeeOther("/account/passkeys")


def _to_make(request: HttpRequest, member: Member, stash: Json) -> HttpResponse:
    challenge = ids.token()
    under_way.keep(request, NEW, ids.digest(challenge), "/account/passkeys", {**stash, "sub": member.sub})
    held = list(member.passkeys.values_list("credential_id", flat=True))
    options = identity.passkeys.to_make(place(), sub=member.sub, name=member.name, known=held, challenge=challenge)
    return ask(request, "create", options, challenge, "/account/passkeys", member.name)


def _keep(request: HttpRequest) -> HttpResponse:
    challenge = request.POST.get("state", "")
    kept = under_way.take(request, NEW, ids.digest(challenge))
    stash = vault.open_stash(kept["stash"], kept["state_hash"])
    try:
        made = identity.passkeys.made(place(), request.POST.get("credential", ""), challenge)
    except identity.SignInRefused as refused:
        return pages.refused(request, 403, "No passkey was added", str(refused))
    if stash["invitation"]:
        session.sign_in(request, known(_accounts().issuer, members.enrol(stash["invitation"], made)))
    else:
        member = _member(request)
        if member.sub != stash["sub"]:
            raise Forbidden("Somebody else has signed in here meanwhile.")
        members.add(member, made)
    return pages.SeeOther("/account/passkeys")


def _member(request: HttpRequest) -> Member:
    """Who is signed in, freshly: who takes over a session must not make it last. Raises Forbidden."""
    me = session.person(request)
    member = _of(me)
    if me is None or member is None or clock.now().timestamp() - me.auth_time > FRESH:
        raise Forbidden("Sign in again first: passkeys are changed within five minutes of a sign-in.")
    return member


def _of(me: session.Person | None) -> Member | None:
    return members.find(me.claim.sub) if me and me.claim.iss == _accounts().issuer else None


def _accounts() -> IdentityProvider:
    row = IdentityProvider.objects.filter(sort=ACCOUNTS, enabled=True).first()
    if row is None:
        raise NotFound("This service has no accounts of its own.")
    return row


def _choice() -> Json:
    return {"slug": _accounts().slug, "label": _accounts().slug}
