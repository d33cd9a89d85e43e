"""Sign-in with a passkey on our own page. Its challenge is the sign-in's state: this browser's, and used once."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from elicit_flows import identity
from elicit_flows.brands import page_brand
from elicit_flows.domain.values import Claim
from elicit_flows.identity import SignedIn
from elicit_flows.identity.passkeys import Place
from elicit_flows.lib import clock, ids
from elicit_flows.models import IdentityProvider, Member
from elicit_flows.people import local_accounts
from elicit_flows.web import pages, pending_logins, session, signin

ACCOUNTS = IdentityProvider.Sort.ACCOUNTS


@require_http_methods(["GET", "HEAD", "POST"])
@pages.errors_as_pages
def use(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for a passkey; a POST brings the answer."""
    row = signin.find(slug, ACCOUNTS)
    if request.method == "POST":
        challenge = request.POST.get("state", "")
        kept = pending_logins.take(request, row.slug, ids.digest(challenge))
        try:
            who = _whose(request.POST.get("credential", ""), challenge, row.issuer)
        except identity.SignInRefused as refused:
            return pages.refused(request, 403, "You are not signed in", str(refused), back_url=kept["next"])
        session.sign_in(request, who)
        return pages.SeeOther(kept["next"])
    from elicit_flows.identity import ceremonies  # noqa: PLC0415  most services have no own accounts

    challenge = pending_logins.newest(request, slug)["challenge"]
    return ask(request, "get", ceremonies.to_use(place(), challenge), challenge, f"/login/{slug}/passkey")


def _whose(sent: str, challenge: str, issuer: str) -> SignedIn:
    """The person whose passkey it is. Raises SignInRefused."""
    from elicit_flows.identity import ceremonies  # noqa: PLC0415

    credential = ceremonies.read(sent)
    row = local_accounts.by_credential(credential.id)
    if row is None:
        raise identity.SignInRefused("unknown_passkey", "This passkey is not known here.")
    use = ceremonies.used(
        place(), credential, challenge, sub=row.member.sub, public_key=row.public_key, sign_count=row.sign_count
    )
    if not local_accounts.note_use(row, use):
        raise identity.SignInRefused("bad_passkey", "This passkey was used twice at once. Try again.")
    return known(issuer, row.member)


def known(issuer: str, member: Member) -> SignedIn:
    return SignedIn(Claim(issuer, member.sub), int(clock.now().timestamp()), member.name)


def place() -> Place:
    return Place(settings.ELICIT_PUBLIC_URL, page_brand.of().name)


def ask(request: HttpRequest, ceremony: str, options: str, challenge: str, url: str, name: str = "") -> HttpResponse:
    """A page whose button makes the browser ask for a passkey. ``ceremony`` is "get" or "create"."""
    context = {"ceremony": ceremony, "options": options, "state": challenge, "url": url, "name": name}
    return render(request, "connect/passkey.html", context)
