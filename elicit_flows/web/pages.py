"""Renders pages, and turns errors into pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import get_language, gettext, ngettext

from elicit_flows import elicitations, vault
from elicit_flows.brands import page_brand
from elicit_flows.domain.errors import FlowError, NotFound, Over, ProviderUnavailable, TooMany, WrongUser
from elicit_flows.domain.status import TERMINAL, Status
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment import order
from elicit_flows.lib import ids, rate_limits, text
from elicit_flows.lib.sentences import spoken
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Elicitation, IdentityProvider
from elicit_flows.web import session

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]
PersonView = Callable[Concatenate[HttpRequest, session.Person, P], HttpResponse]


def said(text: str) -> str:
    """A sentence of ours in the language of the page."""
    return spoken(text, gettext, ngettext)


def told(text: str) -> Json:
    """``{detail, technical}``: the same. What no catalogue has is for whoever looks for the cause, and English."""
    here = said(text)
    known = here != text or (get_language() or "en").startswith("en")
    return {"detail": here, "technical": ""} if known else {"detail": "", "technical": text}


class SeeOther(HttpResponseRedirect):
    """303: the next request is a GET, whatever this one was."""

    status_code = 303


def errors_as_pages(view: View[P]) -> View[P]:
    """Turn the errors of a view into a page.

    The page names who is signed in. Behind a proxy that may need the proxy's keys, so the view may call outside.
    """

    @asks_outside
    @wraps(view)
    def wrapper(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except session.SignInNeeded as needed:
            return _sign_in_first(request, needed.following)
        except FlowError as error:
            return _explain(request, error)

    return cast(View[P], wrapper)


def for_person(view: PersonView[P]) -> View[P]:
    """A page for a signed-in person. Others are asked to sign in, and learn nothing about the page."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        me = session.signed_in(request)
        if request.method == "POST" or not request.path.startswith("/c/"):  # opening a link changes nothing
            session.note_use(request, me.claim)
        return view(request, me, *args, **kwargs)

    return errors_as_pages(cast(View[P], wrapper))


def for_fresh_person(following: str) -> Callable[[PersonView[P]], View[P]]:
    """The same for a person who has just signed in; others sign in again and continue at ``following``
    (threat T140).
    """

    def decorate(view: PersonView[P]) -> View[P]:
        @wraps(view)
        def wrapper(request: HttpRequest, me: session.Person, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            return view(request, me, *args, **kwargs) if me.fresh else sign_in_again(request, me, following)

        return for_person(cast(PersonView[P], wrapper))

    return decorate


def _explain(request: HttpRequest, error: FlowError) -> HttpResponse:
    if isinstance(error, NotFound) and not rate_limits.UNKNOWN_LINKS.hit_from(request.META["REMOTE_ADDR"]):
        error = TooMany("There were too many requests for unknown links from your network.", retry_after=60)
    if isinstance(error, WrongUser) and error.elicitation:
        return mismatch(request, f"/c/{error.elicitation}")
    if isinstance(error, Over) and error.elicitation:
        # The outcome of a link that is over. A finished step leads to the next one.
        row = elicitations.find(error.elicitation)
        if row.parent and not row.parent.over:
            return SeeOther(f"/c/{row.parent_id}")
        return outcome(request, row.head, http_status=410, late=True)
    answer = unavailable(request, error) if isinstance(error, ProviderUnavailable) else None
    if answer is None and isinstance(error, NotFound) and request.path.startswith("/c/"):
        to, name = "/account", gettext("Your account")
        answer = refused(request, error.status, "We can't find this request", error.detail, to, name)
    elif answer is None:
        back = f"/c/{error.elicitation}" if error.elicitation else ""
        answer = refused(request, error.status, error.title, error.detail, back_url=back)
    if error.retry_after is not None:
        answer["Retry-After"] = str(error.retry_after)
    return answer


def _sign_in_first(request: HttpRequest, following: str) -> HttpResponse:
    """Nothing was done yet: a reader comes back to the page, a button press to the page with the button."""
    parts, link = request.path.split("/"), request.path.startswith("/c/")
    reads = request.method in {"GET", "HEAD"} and not following
    following = following or (request.path if reads else f"/c/{parts[2]}" if link else "/account")
    offered = choices()
    # For a link, its own identity provider is the only choice. It is named where all links have the same: otherwise
    # whoever has found one would learn where its person signs in.
    if link and (len(offered) > 1 or not all(one["named"] for one in offered)):
        offered = []
    return signin(request, following, status=200 if reads else 403, choices=offered)


def unavailable(request: HttpRequest, error: ProviderUnavailable) -> HttpResponse | None:
    """The page for a provider that does not answer while the link is still valid; None if a plain page is enough."""
    me = session.person(request)
    view = elicitations.look(error.elicitation, me.claim) if me and error.elicitation else None
    if view is None or not view.what.get("title") or view.elicitation.kind not in ("oauth", "credentials"):
        return None
    row = view.elicitation
    context = {
        "brand": page_brand.of(row.agent_id),
        "name": view.what["title"],
        **told(error.detail),
        "expires_at": row.expires_at,
        "connect_url": f"/c/{row.head.pk}",
        "continue_url": f"/c/{row.pk}/continue" if view.leaves else "",
        "decline_url": f"/c/{row.pk}/decline",
        "press": ids.token(),
    }
    return render(request, "connect/unavailable.html", context, status=error.status)


def refused(
    request: HttpRequest, status: int, title: str, detail: str, back_url: str = "", back_label: str = ""
) -> HttpResponse:
    shown = {"http_status": status, "title": said(title), "back_url": back_url, "back_label": back_label}
    context = shown | told(detail)
    return render(request, "refused.html", context, status=status)


def signin(
    request: HttpRequest, following: str, status: int = 200, choices: list[Json] | None = None, *, again: bool = False
) -> HttpResponse:
    """``again``: a person is signed in, but not recently enough."""
    context = {"login_url": "/login", "next": following, "choices": choices, "again": again}
    return render(request, "connect/signin.html", context, status=status)


def sign_in_again(request: HttpRequest, me: session.Person, following: str) -> HttpResponse:
    """For a person who did not sign in recently enough, where they did."""
    status = 200 if request.method in {"GET", "HEAD"} else 403
    theirs = [one for one in choices() if one["issuer"] == me.claim.iss]
    return signin(request, following, status=status, choices=theirs, again=True)


def choices() -> list[Json]:
    """The ways to sign in that a page without an elicitation offers."""
    rows = IdentityProvider.objects.filter(enabled=True).select_related("icon").order_by("order", "slug")
    return [
        {
            "slug": row.slug,
            "label": row.name or row.slug,
            "named": bool(row.name),
            "issuer": row.issuer,
            "icon": page_brand.inline_image(row.icon),
        }
        for row in rows
    ]


def mismatch(request: HttpRequest, following: str) -> HttpResponse:
    context = {"me": session.person(request, on_the_way_back=True), "switch_url": "/switch", "next": following}
    return render(request, "connect/mismatch.html", context, status=403)


def device(request: HttpRequest, view: elicitations.View, shown: elicitations.DevicePrompt) -> HttpResponse:
    """The code to type at the provider, only for the person who pressed the button."""
    row = view.elicitation
    context = {
        "brand": page_brand.of(row.agent_id),
        "status": row.status,
        "agent_name": row.agent.name,
        "title": view.what["title"],
        "shown": shown.what,
        "until": shown.until,
        "host_warning": text.host_warning(shown.what["address"]),
        "connect_url": f"/c/{row.head.pk}",
        "done_url": f"/c/{row.head.pk}/done",
    }
    return render(request, "connect/device.html", context)


def outcome(
    request: HttpRequest, row: Elicitation, http_status: int = 200, why: str = "", *, late: bool = False
) -> HttpResponse:
    """The current outcome. An expired elicitation is shown as expired before the worker has recorded it.

    ``why``: the attempt failed and may be repeated. ``late``: the person answered again, and their first answer counts.
    """
    status = Status.EXPIRED if row.overdue else Status(row.status)
    if request.method == "POST" and status not in TERMINAL:
        return SeeOther(f"/c/{row.head.pk}/done")  # the page asks for itself by GET until it is over
    bought = _bought(row) if row.kind == "payment" and "order" in row.params else {}
    connection, back = (row.result or {}).get("connection"), row.head.return_url or ""
    context = {
        "brand": page_brand.of(row.agent_id),
        "answered": late and status in (Status.COMPLETED, Status.DECLINED) and row.kind != "payment",
        "kind": row.kind,
        "yes_or_no": row.kind in ("confirm", "x402"),
        "finished_at": row.finished_at,
        "undo_url": f"/account/connections/{connection}" if connection else "",
        "status": str(status),
        "why": said(why),
        "over": status in TERMINAL,
        "outcome_templates": [f"connect/kinds/{row.kind}_outcome.html", "connect/_outcome.html"],
        "asked": {**row.params, **bought},
        "receipt_url": receipt_link((row.result or {}).get("receipt_url")),
        "agent_name": row.agent.name,
        "error": told((row.error or {}).get("message", "")),
        "gained": _gained(row) if status == Status.COMPLETED else [],
        "return_url": back if status in TERMINAL else None,
        "to_app": text.is_app_address(back),
        # Browsers open an app only for a press.
        "returns": row.head.return_mode == "auto"
        and not late
        and not text.is_app_address(back)
        and (status == Status.COMPLETED or (status == Status.DECLINED and not _for_money(row))),
        "connect_url": f"/c/{row.head.pk}",
        "done_url": f"/c/{row.head.pk}/done",
    }
    return render(request, "connect/done.html", context, status=http_status)


def _bought(row: Elicitation) -> Json:
    """An order, with the tax and the total once the provider has computed them."""
    result = row.result or {}
    computed = {"amount": result["amount"]} if "tax" in result else {}
    paid = getattr(row, "payment", None) if row.status == Status.COMPLETED else None
    links = {name: receipt_link(getattr(paid, name)) for name in ("invoice_url", "invoice_pdf")} if paid else {}
    return {"order": order.shown(row.params["order"], result.get("tax")), **computed, **links}


def _for_money(row: Elicitation) -> bool:
    """Whether it is a payment, or has one among its steps that was not paid."""
    return row.kind == "payment" or row.steps.filter(kind="payment").exclude(status=Status.COMPLETED).exists()


def _gained(row: Elicitation) -> list[Json]:
    """The connections that resulted from it, for the person who owns them."""
    results = [row.result or {}, *(step["result"] or {} for step in (row.result or {}).get("steps", []))]
    ids_ = [result["connection"] for result in results if "connection" in result]
    rows = vault.ever_held_by(row.claim).filter(pk__in=ids_).order_by("created_at") if ids_ else []
    return [
        {
            "name": one.provider.name if one.provider else one.account_label,
            "account": one.account_label if one.provider else "",
            "scopes": one.scopes,
            "scope_words": one.provider.words_of_scopes() if one.provider else {},
            "url": f"/account/connections/{one.pk}",
        }
        for one in rows
    ]


def receipt_link(url: str | None) -> str:
    """The provider's receipt page; "" for an address that we would not send anybody to."""
    fine = url and (url.startswith("https://") or (settings.ELICIT_ALLOW_LOOPBACK and url.startswith("http://")))
    return url if url and fine else ""
