"""Connections on the pages of /account: by provider and account, the page of one, and Disconnect."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import vault
from elicit_flows.brands import page_brand
from elicit_flows.domain.errors import NotFound
from elicit_flows.domain.values import Claim, Json
from elicit_flows.lib import clock
from elicit_flows.models import ConnectionUse
from elicit_flows.web import pages, paging
from elicit_flows.web.session import Person

UNUSED = timedelta(days=90)


@require_safe
@pages.for_person
def show(request: HttpRequest, me: Person, connection_id: str) -> HttpResponse:
    row = vault.ever_held_by(me.claim).filter(pk=connection_id).first()
    if row is None:
        raise NotFound("You have no such connection.")
    page = paging.cut(
        request,
        lambda before, limit: vault.uses_of(row, paging.numbered(before), limit),
        lambda use: use.last_at,
    )
    context = {
        "status": row.status,
        "connection": shown(row),
        "agent_slug": row.agent.slug,
        "of_agent": vault.held_by(me.claim).filter(agent=row.agent_id).count(),
        "days": by_day(page.rows),
        "calls": vault.calls_of(row),
        "tokens_never_leave": row.agent.tokens_never_leave,
        **paging.search(request, page),
    }
    return render(request, "account/connection.html", context)


@require_POST
@pages.for_person
def revoke(request: HttpRequest, me: Person, connection_id: str) -> HttpResponse:
    row = vault.held_by(me.claim).filter(pk=connection_id).first()
    if row is None:
        raise NotFound("You have no such connection.")
    vault.revoke(row, ConnectionUse.Actor.PERSON)
    return pages.SeeOther(f"/account?ended={row.pk}")


@require_POST
@pages.for_person
def revoke_all(request: HttpRequest, me: Person, slug: str) -> HttpResponse:
    """Disconnect everything that this agent has of the person."""
    _end(vault.held_by(me.claim).filter(agent__slug=slug), "This agent has no connection of yours.")
    return pages.SeeOther(f"/account?ended_of={slug}")


@require_POST
@pages.for_person
def revoke_provider(request: HttpRequest, me: Person, slug: str) -> HttpResponse:
    """Disconnect everything that the person has connected at this provider."""
    _end(vault.held_by(me.claim).filter(provider__slug=slug), "You have no connection to this provider.")
    return pages.SeeOther(f"/account?ended_at={slug}")


def _end(rows: QuerySet[vault.Connection], none: str) -> None:
    found = list(rows)
    if not found:
        raise NotFound(none)
    for row in found:
        vault.revoke(row, ConnectionUse.Actor.PERSON)


def just_ended(request: HttpRequest, claim: Claim) -> Json | None:
    """What the person has just disconnected, according to the address; None if that is not true. ``all_of``: whether it
    is everything of an "agent" or at a "provider", "" for one.
    """
    if "ended" in request.GET:
        row = vault.ended(claim).filter(pk=paging.words(request, "ended")).first()
        return {**shown(row), "all_of": ""} if row else None
    for name, all_of in (("ended_of", "agent"), ("ended_at", "provider")):
        if name in request.GET:
            only = {f"{all_of}__slug": paging.words(request, name)}
            row = vault.ended(claim).filter(**only).first()
            left = vault.held_by(claim).filter(**only).exists()
            return {**shown(row), "all_of": all_of} if row and not left else None
    return None


def grouped(claim: Claim, rows: list[vault.Connection]) -> list[Json]:
    """Connections by provider and by account, each in the order of its newest one: ``[{name, slug, picture, total,
    accounts: [{label, connections}]}]``. ``total`` counts those on other pages, too. Each connection has ``picture``,
    its agent's.
    """
    of_providers, of_agents = page_brand.logos(
        {row.provider_id for row in rows if row.provider_id is not None}, {row.agent_id for row in rows}
    )
    total = vault.count_at(claim, {row.provider_id for row in rows if row.provider_id is not None})
    found: dict[object, Json] = {}
    for row in rows:
        one = {**shown(row), "picture": of_agents.get(row.agent_id)}
        name = one["provider_name"]
        slug = row.provider.slug if row.provider else ""
        new = {"name": name, "slug": slug, "picture": of_providers.get(row.provider_id or 0), "accounts": {}}
        new["total"] = total.get(row.provider_id or 0, 0)
        of = found.setdefault(row.provider_id or name, new)["accounts"]
        label = one["account_label"]
        of.setdefault(row.account_id or label or row.pk, {"label": label, "connections": []})["connections"].append(one)
    return [{**one, "accounts": list(one["accounts"].values())} for one in found.values()]


def by_day(uses: list[ConnectionUse]) -> list[Json]:
    """Uses by the reader's day, in the order in which they come."""
    days = groupby(uses, key=lambda use: timezone.localtime(use.last_at).date())
    return [{"day": day, "uses": list(some)} for day, some in days]


def shown(row: vault.Connection) -> Json:
    of = row.provider if not (row.typed or row.own_client) else None
    untold = of is not None and (row.upstream == row.Upstream.FAILED or not of.is_told())
    return {
        "id": row.pk,
        "provider_name": row.provider.name if row.provider else row.account_label,
        "account_label": row.account_label if row.provider else "",
        "unnamed": not (row.account_label or row.typed or row.own_client),
        "agent_name": row.agent.name,
        "scopes": row.scopes,
        "scope_words": row.provider.words_of_scopes() if row.provider else {},
        "typed": row.typed,
        "own_client": row.own_client,
        "status": row.status,
        "health": row.health,
        "refused": row.refresh_refusals > 0,
        "upstream": row.upstream,
        "untold": untold,
        "removal_url": of.removal_page() if of and untold else "",
        "created_at": row.created_at,
        "last_used_at": row.last_used_at,
        "unused": clock.now() - (row.last_used_at or row.created_at) > UNUSED,
        "revoked_at": row.revoked_at,
    }
