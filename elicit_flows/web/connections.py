"""One connection of a person: what its agent did with it and when, and ending it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import vault
from elicit_flows.errors import NotFound
from elicit_flows.values import Json
from elicit_flows.web import pages
from elicit_flows.web.session import Person

MAX_USES = 500


@require_safe
@pages.for_person
def show(request: HttpRequest, me: Person, connection_id: str) -> HttpResponse:
    row = vault.ever_held_by(me.claim).filter(pk=connection_id).first()
    if row is None:
        raise NotFound("You have no such connection.")
    context = {"status": row.status, "connection": shown(row), "days": list(_days(row))}
    return render(request, "account/connection.html", context)


@require_POST
@pages.for_person
def revoke(request: HttpRequest, me: Person, connection_id: str) -> HttpResponse:
    row = vault.held_by(me.claim).filter(pk=connection_id).first()
    if row is None:
        raise NotFound("You have no such connection.")
    vault.revoke(row, vault.Use.Actor.PERSON)
    return pages.SeeOther("/account")


@require_POST
@pages.for_person
def revoke_all(request: HttpRequest, me: Person, slug: str) -> HttpResponse:
    """All that this agent has of the person."""
    rows = list(vault.held_by(me.claim).filter(agent__slug=slug))
    if not rows:
        raise NotFound("This agent has no connection of yours.")
    for row in rows:
        vault.revoke(row, vault.Use.Actor.PERSON)
    return pages.SeeOther("/account")


def shown(row: vault.Connection) -> Json:
    return {
        "id": row.pk,
        "provider_name": row.provider.name if row.provider else row.account_label,
        "account_label": row.account_label if row.provider else "",
        "agent_name": row.agent.name,
        "scopes": row.scopes,
        "scope_words": row.provider.scope_words() if row.provider else {},
        "typed": row.typed,
        "own_client": row.own_client,
        "status": row.status,
        "health": row.health,
        "upstream": row.upstream,
        "created_at": row.created_at,
        "last_used_at": row.last_used_at,
        "revoked_at": row.revoked_at,
    }


def _days(row: vault.Connection) -> Iterator[Json]:
    """What was done, the last day first, and within a day the last hour."""
    newest = row.uses.order_by("-last_at", "-pk")[:MAX_USES]
    for day, uses in groupby(newest, key=_day):
        yield {"day": day, "uses": [_said(use) for use in uses]}


def _day(use: vault.Use) -> date:
    return use.last_at.date()


def _said(use: vault.Use) -> Json:
    names = ("action", "actor", "count", "first_at", "last_at")
    return {name: getattr(use, name) for name in names}
