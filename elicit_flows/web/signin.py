"""Sign-in with OpenID Connect, the choice of a way to sign in, and signing out."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from elicit_flows import elicitations, identity, vault
from elicit_flows.domain.errors import NotFound, ProviderUnavailable
from elicit_flows.domain.values import Answer
from elicit_flows.lib import counters, health, ids, locales
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import IdentityProvider
from elicit_flows.web import languages, pages, pending_logins, session

Sort = IdentityProvider.Sort


@require_POST
@pages.errors_as_pages
def begin(request: HttpRequest) -> HttpResponse:
    """Go to the identity provider of the link in ``next``, or to the one that was chosen."""
    return _leave(request, prompt="login" if request.POST.get("again") else None)


@require_POST
@pages.errors_as_pages
def switch(request: HttpRequest) -> HttpResponse:
    """Sign out and sign in again, without a link between the two sessions."""
    session.sign_out(request)
    return _leave(request, prompt="login", switching=True)


@require_POST
def end(request: HttpRequest) -> HttpResponse:
    session.sign_out(request)
    return pages.SeeOther("/")


@require_POST
@asks_outside
def end_everywhere(request: HttpRequest) -> HttpResponse:
    me = session.person(request, on_the_way_back=True)
    if me:
        session.sign_out_everywhere(request, me)
    return pages.SeeOther("/")


@require_GET
@pages.errors_as_pages
def callback(request: HttpRequest, slug: str) -> HttpResponse:
    """The way back from the identity provider. The state is used up before the code is."""
    answer = Answer(dict(request.GET.lists()))
    kept = pending_logins.take(request, slug, ids.digest(answer.one("state") or ""))
    stash = vault.open_stash(kept["stash"], kept["state_hash"])
    row = find(slug, Sort.OPENID)
    try:
        signed_in = identity.finish(
            vault.openid(row),
            redirect_uri=_redirect_uri(slug),
            answer=answer,
            nonce=stash["nonce"],
            verifier=stash["verifier"],
            since=kept["at"],
        )
    except identity.SignInRefused as error:
        return pages.refused(request, 403, "You are not signed in", str(error), back_url=kept["next"])
    except ProviderUnavailable as error:
        _failed_us(slug)
        return pages.refused(request, error.status, error.title, error.detail, back_url=kept["next"])
    health.succeeded("identity", slug)
    session.sign_in(request, signed_in)
    vault.keep_assertion(row, signed_in)
    return pages.SeeOther(kept["next"])


def _failed_us(slug: str) -> None:
    counters.count("provider_errors", slug, "sign_in")
    health.failed("identity", slug, "sign_in")


def _leave(request: HttpRequest, prompt: str | None, *, switching: bool = False) -> HttpResponse:
    pending_logins.check_number(request)
    following = local(request.POST.get("next", ""))
    row = _chosen(following, request.POST.get("provider"))
    if row.sort == Sort.PROXY:
        # Sign in by the proxy, which has authenticated the person already; another account is chosen there.
        if switching:
            return pages.refused(
                request,
                403,
                "Switch accounts at your organisation's sign-in",
                "You are signed in through your organisation's proxy. Sign out there, then open your link again.",
                back_url=following,
            )
        try:
            session.sign_in(request, identity.proxy.read(vault.proxy(row), request.headers.get(row.header, "")))
        except identity.SignInRefused as refused:
            return pages.refused(request, 403, "You are not signed in", str(refused), back_url=following)
        return pages.SeeOther(following)
    state, nonce, verifier = ids.token(), ids.token(), ids.token()
    language = locales.tag(languages.chosen(request, elicitation_of(following)))
    if row.sort == Sort.ACCOUNTS:
        pending_logins.keep(request, row.slug, ids.digest(state), following, {"challenge": state})
        return pages.SeeOther(f"/login/{row.slug}/passkey")
    if row.sort == Sort.SITE:
        elicitation = elicitation_of(following)
        site = vault.site(row)
        url = identity.site.begin(site, state=state, elicitation=elicitation, prompt=prompt, ui_locales=language)
    else:
        try:
            url = identity.begin(
                vault.openid(row),
                redirect_uri=_redirect_uri(row.slug),
                state=state,
                nonce=nonce,
                verifier=verifier,
                prompt=prompt,
                ui_locales=language,
            )
        except ProviderUnavailable as error:
            _failed_us(row.slug)
            return pages.refused(request, error.status, error.title, error.detail, back_url=following)
    pending_logins.keep(request, row.slug, ids.digest(state), following, {"nonce": nonce, "verifier": verifier})
    return pages.SeeOther(url)


def _chosen(following: str, slug: str | None) -> IdentityProvider:
    """For a link, its person's identity provider; otherwise the one that was chosen, or the only one."""
    rows = IdentityProvider.objects.filter(enabled=True)
    if elicitation_of(following):
        row = rows.filter(issuer=elicitations.find(elicitation_of(following)).iss).first()
    elif slug:
        row = rows.filter(slug=slug).first()
    else:
        row = rows.first() if rows.count() == 1 else None
    if row is None:
        raise NotFound("This service has no way to sign you in for this. Ask its operator.")
    return row


def find(slug: str, sort: str) -> IdentityProvider:
    """The enabled identity provider. Raises NotFound."""
    row = IdentityProvider.objects.filter(slug=slug, sort=sort, enabled=True).first()
    if row is None:
        raise NotFound
    return row


def _redirect_uri(slug: str) -> str:
    return f"{settings.ELICIT_PUBLIC_URL}/login/{slug}/callback"


def local(path: str) -> str:
    """A path of ours to continue at; anything else becomes /account."""
    plain = path.isascii() and path.replace("/", "").replace("-", "").replace("_", "").isalnum()
    return path if plain and path.startswith(("/c/", "/account")) and "//" not in path else "/account"


def elicitation_of(path: str) -> str:
    """The id in the path of a link; "" for any other path."""
    return path.split("/")[2] if path.startswith("/c/") else ""
