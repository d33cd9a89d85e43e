"""The front page, and what a person has connected and paid."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import flow, vault
from elicit_flows.errors import NotFound
from elicit_flows.ledger import reading
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, IdentityProvider, Payment
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.states import Status
from elicit_flows.values import Claim, Json
from elicit_flows.web import pages, session

ASKED = (Status.PENDING, Status.STARTED)  # settling waits for others
MAX_WAITING = 50
MAX_PAYMENTS = 100


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
    payments = [_paid(row) for row in reading.made_by(me.claim)[:MAX_PAYMENTS]]
    context = {
        "me": me,
        "waiting": _waiting(me.claim),
        "connections": connections,
        "payments": payments,
        "status": "signed-in",
    }
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


@require_safe
@pages.says_why
def receipt(request: HttpRequest, payment_id: str) -> HttpResponse:
    """The signed receipt as a file to keep, for whoever paid."""
    me = session.person(request)
    if me is None:
        return pages.signin(request, "/account", status=403, choices=_choices())
    row = reading.made_by(me.claim).filter(pk=payment_id).first()
    if row is None:
        raise NotFound("You have no such payment.")
    named = {"Content-Disposition": f'attachment; filename="receipt-{row.pk}.jwt"'}
    return HttpResponse(flow.receipt(row), content_type="application/jwt", headers=named)


def _choices() -> list[Json]:
    rows = IdentityProvider.objects.filter(enabled=True).order_by("slug")
    return [{"slug": row.slug, "label": row.slug} for row in rows]


def _waiting(claim: Claim) -> list[Json]:
    rows = Elicitation.objects.filter(
        UNFINISHED, parent=None, iss=claim.iss, sub=claim.sub, status__in=ASKED, expires_at__gt=clock.now()
    ).select_related("agent")
    return [
        {"message": row.message, "agent_name": row.agent.name, "url": f"/c/{row.pk}", "expires_at": row.expires_at}
        for row in rows.order_by("-created_at")[:MAX_WAITING]
    ]


def _shown(row: vault.Connection) -> Json:
    return {
        "id": row.pk,
        "provider_name": row.provider.name if row.provider else row.account_label,
        "account_label": row.account_label if row.provider else "",
        "agent_name": row.agent.name,
        "scopes": row.scopes,
        "status": row.status,
        "created_at": row.created_at,
        "last_used_at": row.last_used_at,
    }


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
