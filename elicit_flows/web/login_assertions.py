"""Sign-in by a site, which sends the browser back here with a form that contains an assertion.

The form comes from another site, so it arrives without our cookies and must change nothing in the browser. The
assertion is stored. The next request of the same browser has the cookies, and redeems it if that browser began the
sign-in.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from elicit_flows import identity, people, vault
from elicit_flows.domain.errors import BadCallback
from elicit_flows.models import IdentityProvider
from elicit_flows.web import pages, pending_logins, session, signin

SITE = IdentityProvider.Sort.SITE


@csrf_exempt
@require_POST
@pages.errors_as_pages
def vouch(request: HttpRequest, slug: str) -> HttpResponse:
    """Store the assertion. Reads no cookie and sets none."""
    row = signin.find(slug, SITE)
    try:
        word = identity.site.read(vault.site(row), request.POST.get("assertion", ""), settings.ELICIT_PUBLIC_URL)
    except identity.SignInRefused as refused:
        return pages.refused(request, 403, "You are not signed in", str(refused))
    code = people.store_login_assertion(row, word)
    return pages.SeeOther(f"/login/{slug}/vouched?code={code}")


@require_GET
@pages.errors_as_pages
def vouched(request: HttpRequest, slug: str) -> HttpResponse:
    """Sign in the browser that began this sign-in, for the link that it began it for."""
    code = request.GET.get("code", "")
    found = people.redeem_login_assertion(signin.find(slug, SITE), code, pending_logins.hashes(request, slug))
    if found is None:
        raise BadCallback("This sign-in was started in another browser, or too long ago. Open your link again.")
    word, signed_in = found
    kept = pending_logins.take(request, slug, word.state_hash)
    if word.elicitation != signin.elicitation_of(kept["next"]):
        raise BadCallback("The site signed you in for a different link. Open your link again.")
    session.sign_in(request, signed_in)
    return pages.SeeOther(kept["next"])
