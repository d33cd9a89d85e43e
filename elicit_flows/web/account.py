"""The front page, and the pages of /account: requests, connections, payments, activity and security."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import people, vault
from elicit_flows.domain.status import TERMINAL, Status
from elicit_flows.domain.values import Claim, Json
from elicit_flows.lib import clock
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Elicitation
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.people import local_accounts
from elicit_flows.web import connections, notifications, pages, paging, session

ASKED = (Status.PENDING, Status.STARTED)  # not settling, which does not wait for the person


@require_safe
@asks_outside
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html", {"me": session.person(request)})


@require_safe
@pages.for_person
def held(request: HttpRequest, me: session.Person) -> HttpResponse:
    """What agents can use, by provider, account and agent."""
    rows = vault.by_use(me.claim, paging.words(request, "q"))
    page = paging.cut(request, paging.newest(rows, "used"), lambda row: row.used)  # type: ignore[attr-defined]
    context = {
        "providers": connections.grouped(me.claim, page.rows),
        "just_ended": connections.just_ended(request, me.claim),
        **paging.search(request, page),
    }
    return show(request, me, "connections", context)


@require_safe
@pages.for_person
def ended(request: HttpRequest, me: session.Person) -> HttpResponse:
    """What agents could use once."""
    newest = paging.newest(vault.ended(me.claim), "revoked_at")
    page = paging.cut(request, newest, lambda row: row.revoked_at or row.created_at)
    rows = list(map(connections.shown, page.rows))
    return show(request, me, "ended", {"ended": rows, **paging.search(request, page)})


@require_safe
@pages.for_person
def requests(request: HttpRequest, me: session.Person) -> HttpResponse:
    """What waits for the person, or what is over."""
    words, part = paging.words(request, "q"), request.GET.get("show", "")
    rows = (over if part == "answered" else waiting)(me.claim).select_related("agent")
    if words:
        rows = rows.filter(Q(message__icontains=words) | Q(agent__name__icontains=words))
    page = paging.cut(request, paging.newest(rows, "created_at"), lambda row: row.created_at)
    names = ("message", "kind", "status", "expires_at", "finished_at")
    shown = [
        {name: getattr(row, name) for name in names} | {"agent_name": row.agent.name, "url": f"/c/{row.pk}"}
        for row in page.rows
    ]
    context = {"requests": shown, "part": "", **paging.search(request, page)}
    if part == "answered":
        context |= {"part": part, "here_url": f"{request.path}?show={part}"}
    return show(request, me, "requests", context)


@require_safe
@pages.for_person
def activity(request: HttpRequest, me: session.Person) -> HttpResponse:
    """What all agents did, the newest first."""
    page = paging.cut(
        request,
        lambda before, limit: vault.uses_by(me.claim, paging.numbered(before), limit),
        lambda use: use.last_at,
    )
    days = connections.by_day(page.rows)
    for one in days:
        one["uses"] = [{"use": use, "connection": connections.shown(use.connection)} for use in one["uses"]]
    return show(request, me, "activity", {"days": days, **paging.search(request, page)})


@require_safe
@pages.for_person
def security(request: HttpRequest, me: session.Person) -> HttpResponse:
    """How the person signs in, and what becomes of their data."""
    began = datetime.fromtimestamp(me.at, UTC) if me.at else None
    context = {
        "just_ended": request.GET.get("ended", ""),
        "began": began,
        "ends": began + timedelta(seconds=settings.SESSION_COOKIE_AGE) if began else None,
        "sessions": session.listed(request, me),
        "notifications": notifications.shown(me.claim),
        "saved": request.GET.get("saved", ""),
        "passkeys_url": "/account/passkeys" if local_accounts.of(me.claim) else "",
    }
    return show(request, me, "security", context)


@require_POST
@pages.for_person
def end_session(request: HttpRequest, me: session.Person, number: int) -> HttpResponse:
    people.end_session(me.claim, number)
    return pages.SeeOther("/account/security?ended=one")


@require_POST
@pages.for_person
def end_other_sessions(request: HttpRequest, me: session.Person) -> HttpResponse:
    session.sign_out_elsewhere(request, me)
    return pages.SeeOther("/account/security?ended=others")


def show(request: HttpRequest, me: session.Person, tab: str, context: Json) -> HttpResponse:
    """One of the pages, with what all of them say."""
    common = {
        "me": me,
        "tab": "connections" if tab == "ended" else tab,
        "status": "signed-in",
        "held": vault.count_held(me.claim),
        "waiting": waiting(me.claim).count(),
        "erasing": people.erasure_pending(me.claim),
    }
    return render(request, f"account/{tab}.html", common | context)


def waiting(claim: Claim) -> QuerySet[Elicitation]:
    """The requests that the person can still answer."""
    return Elicitation.objects.filter(
        UNFINISHED, parent=None, iss=claim.iss, sub=claim.sub, status__in=ASKED, expires_at__gt=clock.now()
    )


def over(claim: Claim) -> QuerySet[Elicitation]:
    """The requests that the person answered, and those that ended without them."""
    return Elicitation.objects.filter(parent=None, iss=claim.iss, sub=claim.sub, status__in=TERMINAL)
