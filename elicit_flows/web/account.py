"""The front page, and what a person has connected."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import vault
from elicit_flows.errors import NotFound
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, IdentityProvider
from elicit_flows.states import OPEN
from elicit_flows.values import Claim, Json
from elicit_flows.web import pages, session

MAX_WAITING = 50


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html", {"me": session.person(request)})


@require_safe
@pages.says_why
def account(request: HttpRequest) -> HttpResponse:
    me = session.person(request)
    if me is None:
        return pages.signin(request, "/account", choices=_choices())
    connections = [_shown(row) for row in vault.held_by(me.claim)]
    context = {"me": me, "waiting": _waiting(me.claim), "connections": connections, "status": "signed-in"}
    return render(request, "account.html", context)


@require_POST
@pages.says_why
def revoke(request: HttpRequest, connection_id: str) -> HttpResponse:
    me = session.person(request)
    if me is None:
        return pages.signin(request, "/account", status=403, choices=_choices())
    row = vault.held_by(me.claim).filter(pk=connection_id).first()
    if row is None:
        raise NotFound("You have no such connection.")
    vault.revoke(row)
    return pages.SeeOther("/account")


def _choices() -> list[Json]:
    rows = IdentityProvider.objects.filter(enabled=True).order_by("slug")
    return [{"slug": row.slug, "label": row.slug} for row in rows]


def _waiting(claim: Claim) -> list[Json]:
    rows = Elicitation.objects.filter(
        iss=claim.iss, sub=claim.sub, status__in=OPEN, expires_at__gt=clock.now()
    ).select_related("agent")
    return [
        {"message": row.message, "agent_name": row.agent.name, "url": f"/c/{row.pk}", "expires_at": row.expires_at}
        for row in rows.order_by("-created_at")[:MAX_WAITING]
    ]


def _shown(row: vault.Connection) -> Json:
    return {
        "id": row.pk,
        "provider_name": row.provider.name,
        "account_label": row.account_label,
        "agent_name": row.agent.name,
        "scopes": row.scopes,
        "status": row.status,
        "created_at": row.created_at,
        "last_used_at": row.last_used_at,
    }
