"""Rendering, and saying why something is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from elicit_flows import flow
from elicit_flows.errors import FlowError, NotFound, Over, TooMany, WrongUser
from elicit_flows.lib import text
from elicit_flows.lib.limits import hit
from elicit_flows.models import Elicitation, IdentityProvider
from elicit_flows.states import TERMINAL, Status
from elicit_flows.values import Json
from elicit_flows.web import session

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]
UNKNOWN_LINKS = 100  # a minute, from one address: beyond it somebody is guessing


class SeeOther(HttpResponseRedirect):
    """303: what follows is a GET, whatever led here."""

    status_code = 303


def says_why(view: View[P]) -> View[P]:
    """Turn what the line refuses into a page."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except FlowError as error:
            return _explain(request, error)

    return cast(View[P], wrapper)


def for_person(view: Callable[Concatenate[HttpRequest, session.Person, P], HttpResponse]) -> View[P]:
    """A page of ``/account`` for who is signed in; others are asked to, and told nothing of what is behind it."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        me = session.person(request)
        if me is None:
            reads = request.method in {"GET", "HEAD"}
            following, status = (request.path, 200) if reads else ("/account", 403)
            return signin(request, following, status=status, choices=choices())
        return view(request, me, *args, **kwargs)

    return says_why(cast(View[P], wrapper))


def _explain(request: HttpRequest, error: FlowError) -> HttpResponse:
    if isinstance(error, NotFound) and not hit(f"unknown:{request.META.get('REMOTE_ADDR')}", UNKNOWN_LINKS, 60):
        error = TooMany("Too many links that do not exist, from your address.", retry_after=60)
    if isinstance(error, WrongUser) and error.elicitation:
        return mismatch(request, f"/c/{error.elicitation}")
    if isinstance(error, Over) and error.elicitation:
        return _over(request, flow.find(error.elicitation))
    back = f"/c/{error.elicitation}" if error.elicitation else ""
    answer = refused(request, error.status, error.title, error.detail, back_url=back)
    if error.retry_after is not None:
        answer["Retry-After"] = str(error.retry_after)
    return answer


def _over(request: HttpRequest, row: Elicitation) -> HttpResponse:
    """What became of it. A step that is done leads to the next."""
    if row.parent and not row.parent.over:
        return SeeOther(f"/c/{row.parent_id}")
    return outcome(request, row.head, http_status=410)


def refused(request: HttpRequest, status: int, title: str, detail: str, back_url: str = "") -> HttpResponse:
    context = {"http_status": status, "title": title, "detail": detail, "back_url": back_url}
    return render(request, "refused.html", context, status=status)


def signin(request: HttpRequest, following: str, status: int = 200, choices: list[Json] | None = None) -> HttpResponse:
    context = {"login_url": "/login", "next": following, "choices": choices}
    return render(request, "connect/signin.html", context, status=status)


def choices() -> list[Json]:
    """The ways to sign in that a page without an elicitation offers."""
    rows = IdentityProvider.objects.filter(enabled=True).order_by("slug")
    return [{"slug": row.slug, "label": row.slug} for row in rows]


def mismatch(request: HttpRequest, following: str) -> HttpResponse:
    context = {"me": session.returning(request), "switch_url": "/switch", "next": following}
    return render(request, "connect/mismatch.html", context, status=403)


def device(request: HttpRequest, view: flow.View, shown: flow.Shown) -> HttpResponse:
    """The code to type at the provider, for nobody but who pressed the button."""
    row = view.elicitation
    context = {
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


def outcome(request: HttpRequest, row: Elicitation, http_status: int = 200, why: str = "") -> HttpResponse:
    """The truth as it stands. An elicitation whose time is up shows as expired before the worker has written it.

    ``why``: what was begun came to nothing, and they may start again.
    """
    status = Status.EXPIRED if row.overdue else Status(row.status)
    context = {
        "status": str(status),
        "why": why,
        "over": status in TERMINAL,
        "outcome_templates": [f"connect/kinds/{row.kind}_outcome.html", "connect/_outcome.html"],
        "asked": row.params,
        "receipt_url": receipt_link((row.result or {}).get("receipt_url")),
        "agent_name": row.agent.name,
        "error": row.error,
        "return_url": row.head.return_url if status in TERMINAL else None,
        "connect_url": f"/c/{row.head.pk}",
        "done_url": f"/c/{row.head.pk}/done",
    }
    return render(request, "connect/done.html", context, status=http_status)


def receipt_link(url: str | None) -> str:
    """Where the provider shows its receipt; "" for what we would not send anybody to."""
    fine = url and (url.startswith("https://") or (settings.ELICIT_ALLOW_LOOPBACK and url.startswith("http://")))
    return url if url and fine else ""
