"""Invitations: an invited person's first passkey, and adding and removing passkeys."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from elicit_flows import identity, vault
from elicit_flows.domain.errors import Forbidden, NotFound
from elicit_flows.domain.values import Json
from elicit_flows.lib import ids
from elicit_flows.models import IdentityProvider, Member
from elicit_flows.people import local_accounts
from elicit_flows.web import pages, pending_logins, session
from elicit_flows.web.passkeys import ACCOUNTS, ask, known, place

PAGE = "/account/passkeys"
NEW = ":new"  # cannot be mistaken for the slug of a sign-in, which has no colon


@require_http_methods(["GET", "HEAD", "POST"])
@pages.errors_as_pages
def invitation(request: HttpRequest) -> HttpResponse:
    """The token is after the # of the link, where no server and no log sees it; the page's script sends it."""
    _accounts()
    if request.method != "POST":
        return render(request, "connect/invitation.html")
    row = local_accounts.invited(request.POST.get("invitation", ""))
    return _to_make(request, row.member, {"invitation": row.token_hash})


@require_POST
@pages.for_fresh_person(PAGE)
def new(request: HttpRequest, me: session.Person) -> HttpResponse:
    """Add another passkey."""
    return _to_make(request, _member(me), {"invitation": ""})


@require_http_methods(["GET", "HEAD", "POST"])
@pages.errors_as_pages
def passkeys(request: HttpRequest) -> HttpResponse:
    """List the passkeys; a POST adds a new one."""
    if request.method == "POST":
        return _keep(request)
    me = session.person(request)
    member = _of(me)
    if me is None or member is None:
        ours = _accounts().slug
        return pages.signin(request, PAGE, choices=[one for one in pages.choices() if one["slug"] == ours])
    return render(request, "account/passkeys.html", {"me": me, "passkeys": member.passkeys.order_by("created_at")})


@require_POST
@pages.for_fresh_person(PAGE)
def remove(request: HttpRequest, me: session.Person, passkey_id: int) -> HttpResponse:
    local_accounts.remove(_member(me), passkey_id)
    return pages.SeeOther(PAGE)


def _to_make(request: HttpRequest, member: Member, stash: Json) -> HttpResponse:
    from elicit_flows.identity import ceremonies  # noqa: PLC0415  most services have no own accounts

    challenge = ids.token()
    pending_logins.keep(request, NEW, ids.digest(challenge), PAGE, {**stash, "sub": member.sub})
    held = list(member.passkeys.values_list("credential_id", flat=True))
    options = ceremonies.to_make(place(), sub=member.sub, name=member.name, known=held, challenge=challenge)
    return ask(request, "create", options, challenge, PAGE, member.name)


def _keep(request: HttpRequest) -> HttpResponse:
    from elicit_flows.identity import ceremonies  # noqa: PLC0415

    challenge = request.POST.get("state", "")
    kept = pending_logins.take(request, NEW, ids.digest(challenge))
    stash = vault.open_stash(kept["stash"], kept["state_hash"])
    try:
        made = ceremonies.made(place(), request.POST.get("credential", ""), challenge)
    except identity.SignInRefused as refused:
        return pages.refused(request, 403, "No passkey was added", str(refused))
    if stash["invitation"]:
        session.sign_in(request, known(_accounts().issuer, local_accounts.enrol(stash["invitation"], made)))
    else:
        me = session.signed_in(request, following=PAGE)
        if not me.fresh:
            return pages.sign_in_again(request, me, PAGE)
        member = _member(me)
        if member.sub != stash["sub"]:
            raise Forbidden("Another person has signed in in this browser. Start again.")
        local_accounts.add(member, made)
    return pages.SeeOther(PAGE)


def _member(me: session.Person) -> Member:
    """The account of a person who has just signed in: a stolen session must not be enough to add a passkey. Raises
    Forbidden if they did so elsewhere.
    """
    member = _of(me)
    if member is None:
        raise Forbidden("Sign in again first: passkeys are changed within five minutes of a sign-in.")
    return member


def _of(me: session.Person | None) -> Member | None:
    return local_accounts.find(me.claim.sub) if me and me.claim.iss == _accounts().issuer else None


def _accounts() -> IdentityProvider:
    row = IdentityProvider.objects.filter(sort=ACCOUNTS, enabled=True).first()
    if row is None:
        raise NotFound("This service has no accounts of its own.")
    return row
