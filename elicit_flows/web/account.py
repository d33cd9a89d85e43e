"""The front page, and what a person has connected and paid."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from elicit_flows import flow, members, vault
from elicit_flows.errors import NotFound
from elicit_flows.ledger import reading
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Elicitation, Payment
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.states import Status
from elicit_flows.values import Claim, Json
from elicit_flows.web import connections, pages, session

ASKED = (Status.PENDING, Status.STARTED)  # settling waits for others
MAX_WAITING = 50
MAX_PAYMENTS = 100
MAX_ENDED = 50


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html", {"me": session.person(request)})


@require_safe
@pages.says_why
def account(request: HttpRequest) -> HttpResponse:
    me = session.person(request)
    if me is None:
        return pages.signin(request, "/account", choices=pages.choices())
    held = vault.held_by(me.claim).order_by("agent__name", "agent_id", "provider__name", "-created_at")
    payments = [_paid(row) for row in reading.made_by(me.claim)[:MAX_PAYMENTS]]
    context = {
        "me": me,
        "waiting": _waiting(me.claim),
        "agents": [_used_by(agent, list(rows)) for agent, rows in groupby(held, key=attrgetter("agent"))],
        "ended": [connections.shown(row) for row in vault.ended(me.claim)[:MAX_ENDED]],
        "payments": payments,
        "erasing": flow.erasing(me.claim),
        "passkeys_url": "/account/passkeys" if members.of(me.claim) else "",
        "status": "signed-in",
    }
    return render(request, "account.html", context)


@require_safe
@pages.says_why
def receipt(request: HttpRequest, payment_id: str) -> HttpResponse:
    """The signed receipt as a file to keep, for whoever paid."""
    me = session.person(request)
    if me is None:
        return pages.signin(request, "/account", status=403, choices=pages.choices())
    row = reading.made_by(me.claim).filter(pk=payment_id).first()
    if row is None:
        raise NotFound("You have no such payment.")
    named = {"Content-Disposition": f'attachment; filename="receipt-{row.pk}.jwt"'}
    return HttpResponse(flow.receipt(row), content_type="application/jwt", headers=named)


def _waiting(claim: Claim) -> list[Json]:
    rows = Elicitation.objects.filter(
        UNFINISHED, parent=None, iss=claim.iss, sub=claim.sub, status__in=ASKED, expires_at__gt=clock.now()
    ).select_related("agent")
    return [
        {"message": row.message, "agent_name": row.agent.name, "url": f"/c/{row.pk}", "expires_at": row.expires_at}
        for row in rows.order_by("-created_at")[:MAX_WAITING]
    ]


def _used_by(agent: Agent, rows: list[vault.Connection]) -> Json:
    return {"name": agent.name, "slug": agent.slug, "connections": [connections.shown(row) for row in rows]}


def _paid(row: Payment) -> Json:
    said = row.summary()
    names = ("description", "mode", "amount", "currency", "amount_refunded", "status", "dispute")
    return {name: said[name] for name in names} | {
        "id": row.pk,
        "agent_name": row.agent.name,
        "livemode": row.account.livemode,
        "date": row.paid_at or row.created_at,
        "signed": row.status in flow.PAID,
        "receipt_url": pages.receipt_link(row.receipt_url),
    }
