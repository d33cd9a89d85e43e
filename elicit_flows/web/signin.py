"""Signing in at an identity provider (OpenID Connect), setting out for the other ways, and signing out."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from elicit_flows import flow, identity, vault
from elicit_flows.errors import NotFound, ProviderUnavailable
from elicit_flows.lib import ids, tally
from elicit_flows.models import IdentityProvider
from elicit_flows.values import Answer
from elicit_flows.web import pages, session, under_way

Sort = IdentityProvider.Sort


@require_POST
@pages.says_why
def begin(request: HttpRequest) -> HttpResponse:
    """To the identity provider of the link that ``next`` names, or to the one chosen."""
    return _leave(request, prompt=None)


@require_POST
@pages.says_why
def switch(request: HttpRequest) -> HttpResponse:
    """Forget who was signed in and ask who it is now; nothing of the old session is linked."""
    session.sign_out(request)
    return _leave(request, prompt="login")


@require_POST
def end(request: HttpRequest) -> HttpResponse:
    session.sign_out(request)
    return pages.SeeOther("/")


@require_POST
def end_everywhere(request: HttpRequest) -> HttpResponse:
    me = session.returning(request)
    if me:
        session.sign_out_everywhere(request, me)
    return pages.SeeOther("/")


@require_GET
@pages.says_why
def callback(request: HttpRequest, slug: str) -> HttpResponse:
    """Back from the identity provider. The state is used up before the code is."""
    answer = Answer(dict(request.GET.lists()))
    kept = under_way.take(request, slug, ids.digest(answer.one("state") or ""))
    stash = vault.open_stash(kept["stash"], kept["state_hash"])
    try:
        signed_in = identity.finish(
            vault.openid(find(slug, Sort.OPENID)),
            redirect_uri=_redirect_uri(slug),
            answer=answer,
            nonce=stash["nonce"],
            verifier=stash["verifier"],
            since=kept["at"],
        )
    except identity.SignInRefused as error:
        return pages.refused(request, 403, "You are not signed in", str(error), back_url=kept["next"])
    except ProviderUnavailable as error:
        tally.count("provider_errors", slug, "sign_in")
        return pages.refused(request, error.status, error.title, error.detail, back_url=kept["next"])
    session.sign_in(request, signed_in)
    return pages.SeeOther(kept["next"])


def _leave(request: HttpRequest, prompt: str | None) -> HttpResponse:
    following = local(request.POST.get("next", ""))
    row = _chosen(following, request.POST.get("provider"))
    if row.sort == Sort.PROXY:
        return _let_in(request, row, following, switching=prompt is not None)
    state, nonce, verifier = ids.token(), ids.token(), ids.token()
    if row.sort == Sort.ACCOUNTS:
        under_way.keep(request, row.slug, ids.digest(state), following, {"challenge": state})
        return pages.SeeOther(f"/login/{row.slug}/passkey")
    if row.sort == Sort.SITE:
        elicitation = elicitation_of(following)
        url = identity.site.begin(vault.site(row), state=state, elicitation=elicitation, prompt=prompt)
    else:
        try:
            url = identity.begin(
                vault.openid(row),
                redirect_uri=_redirect_uri(row.slug),
                state=state,
                nonce=nonce,
                verifier=verifier,
                prompt=prompt,
            )
        except ProviderUnavailable as error:
            tally.count("provider_errors", row.slug, "sign_in")
            return pages.refused(request, error.status, error.title, error.detail, back_url=following)
    under_way.keep(request, row.slug, ids.digest(state), following, {"nonce": nonce, "verifier": verifier})
    return pages.SeeOther(url)


def _let_in(request: HttpRequest, row: IdentityProvider, following: str, *, switching: bool) -> HttpResponse:
    """The proxy has asked already who it is; another account is chosen there."""
    if switching:
        detail = "You are signed in where this service is let in from. Sign out there, then open your link again."
        return pages.refused(request, 403, "Use another account there", detail, back_url=following)
    try:
        session.sign_in(request, identity.proxy.read(vault.proxy(row), request.headers.get(row.header, "")))
    except identity.SignInRefused as refused:
        return pages.refused(request, 403, "You are not signed in", str(refused), back_url=following)
    return pages.SeeOther(following)


def _chosen(following: str, slug: str | None) -> IdentityProvider:
    """For a link the identity provider of its person; else the one that was chosen, or the only one."""
    rows = IdentityProvider.objects.filter(enabled=True)
    if elicitation_of(following):
        row = rows.filter(issuer=flow.find(elicitation_of(following)).iss).first()
    elif slug:
        row = rows.filter(slug=slug).first()
    else:
        row = rows.first() if rows.count() == 1 else None
    if row is None:
        raise NotFound("There is no way to sign in for this. Ask who runs this service.")
    return row


def find(slug: str, sort: str) -> IdentityProvider:
    """Raises NotFound."""
    row = IdentityProvider.objects.filter(slug=slug, sort=sort, enabled=True).first()
    if row is None:
        raise NotFound
    return row


def _redirect_uri(slug: str) -> str:
    return f"{settings.ELICIT_PUBLIC_URL}/login/{slug}/callback"


def local(path: str) -> str:
    """A path of ours to go on to; anything else becomes /account."""
    plain = path.isascii() and path.replace("/", "").replace("-", "").replace("_", "").isalnum()
    return path if plain and path.startswith(("/c/", "/account")) and "//" not in path else "/account"


def elicitation_of(path: str) -> str:
    """The id in the path of a link; "" for another path."""
    return path.split("/")[2] if path.startswith("/c/") else ""
