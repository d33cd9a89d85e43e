"""A site vouches for the browser that it sends back here with a form.

The form comes from another site, so it comes without our cookies and may change nothing in the browser: the word is
kept, and the next request of the same browser, which has the cookies, takes it if it began that sign-in.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from elicit_flows import flow, identity, vault
from elicit_flows.errors import BadCallback
from elicit_flows.models import IdentityProvider
from elicit_flows.web import pages, session, signin, under_way

SITE = IdentityProvider.Sort.SITE


@csrf_exempt
@require_POST
@pages.says_why
def vouch(request: HttpRequest, slug: str) -> HttpResponse:
    """Looks at no cookie and sets none."""
    row = signin.find(slug, SITE)
    try:
        word = identity.site.read(vault.site(row), request.POST.get("assertion", ""), settings.ELICIT_PUBLIC_URL)
    except identity.SignInRefused as refused:
        return pages.refused(request, 403, "You are not signed in", str(refused))
    code = flow.keep_vouch(row, word)
    return pages.SeeOther(f"/login/{slug}/vouched?code={code}")


@require_GET
@pages.says_why
def vouched(request: HttpRequest, slug: str) -> HttpResponse:
    """Signs in the browser that began this sign-in, for the link that it began it for."""
    code = request.GET.get("code", "")
    found = flow.take_vouch(signin.find(slug, SITE), code, under_way.hashes(request, slug))
    if found is None:
        raise BadCallback("This sign-in was not begun by this browser, or too long ago. Open your link again.")
    word, signed_in = found
    kept = under_way.take(request, slug, word.state_hash)
    if word.elicitation != signin.elicitation_of(kept["next"]):
        raise BadCallback("The site spoke for another link than yours. Open your link again.")
    session.sign_in(request, signed_in)
    return pages.SeeOther(kept["next"])
