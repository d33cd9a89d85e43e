"""The page of one person: who they are, their connections by provider, requests, payments, mandates and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elicit_flows import people
from elicit_flows.admin import persons, request_page, row_actions
from elicit_flows.admin.audit_log import record
from elicit_flows.admin.base import admin_url
from elicit_flows.admin.roles import END_SESSIONS, SEE_PEOPLE, may
from elicit_flows.admin.row_actions import RowAction
from elicit_flows.domain.values import Claim
from elicit_flows.models import Connection, Elicitation, IdentityProvider, Mandate, Payment, SignOut
from elicit_flows.models.elicitation import UNFINISHED, WHOLE
from elicit_flows.people import local_accounts

FEW, MANY = 10, 50  # rows of a part on the whole page, and on a page of its own
HEALTH = {
    "ok": gettext_lazy("Works"),
    "failing": gettext_lazy("The last refresh failed; it is tried again"),
    "expired": gettext_lazy("Expired, and cannot be refreshed"),
    "reauthorization_required": gettext_lazy("The provider ended it; the person has to connect again"),
    "revoked": gettext_lazy("Ended"),
}
AT_PROVIDER, EVERYTHING = "provider:", "all"
MODELS = (Elicitation, Connection, Payment)


def page(site: AdminSite, request: HttpRequest, reference: str) -> HttpResponse:
    """``reference``: a row of theirs, since no address may name a person."""
    seen = all(site.get_model_admin(model).has_view_permission(request) for model in MODELS)
    if not (seen and may(request, SEE_PEOPLE)):
        raise PermissionDenied
    row = persons.row_of(reference)
    if row is None:
        raise Http404
    claim = persons.claim_of(row)
    if request.method == "POST":
        if request.POST.get("action") == "end_sessions":
            if not may(request, END_SESSIONS):
                raise PermissionDenied
            with transaction.atomic():
                people.end_sessions(claim)
                # The log names the row, and not the person: their data may be deleted, and the log stays.
                record(request.user, "Ended all sessions of the person.", row)
            messages.success(request, _("All their sessions have ended. They have to sign in again."))
        else:
            row_actions.perform(site, request, request.POST.get("action", ""), _chosen(request, claim))
        return HttpResponseRedirect(f"{request.get_full_path()}#main")
    return TemplateResponse(request, "admin/operators/person.html", _context(site, request, reference, claim))


def _chosen(request: HttpRequest, claim: Claim) -> QuerySet[Connection]:
    """The live connections that the pressed button named: one, those at a provider, or all."""
    if request.POST.get("action") != "revoke":
        raise Http404
    wanted, live = request.POST.get("row", ""), _live(Connection.objects.all(), claim)
    if wanted == EVERYTHING:
        return live
    if wanted.startswith(AT_PROVIDER):
        return live.filter(provider__slug=wanted.removeprefix(AT_PROVIDER))
    return live.filter(pk=wanted)


def _live(rows: QuerySet[Connection], claim: Claim) -> QuerySet[Connection]:
    # Both conditions, since the index of a person's connections begins with the second.
    live = rows.filter(iss=claim.iss, sub=claim.sub, revoked_at=None)
    return live.exclude(status=Connection.Status.REVOKED)


def _context(site: AdminSite, request: HttpRequest, reference: str, claim: Claim) -> dict[str, Any]:
    theirs = {"iss": claim.iss, "sub": claim.sub}
    connections = site.get_model_admin(Connection).get_queryset(request)  # without tokens
    live = _live(connections, claim)
    asked = Elicitation.objects.filter(WHOLE, **theirs).select_related("agent").defer("metadata", "result", "params")
    paid = Payment.objects.filter(**theirs).select_related("agent")
    # What the person has agreed to, also if it has ended by now.
    given = Mandate.objects.filter(**theirs).exclude(status=Mandate.Status.ASKED).select_related("agent")
    member = local_accounts.of(claim)
    issuer = IdentityProvider.objects.filter(issuer=claim.iss).first()
    counts = {"connections": live.count(), "waiting": asked.filter(UNFINISHED).count(), "payments": paid.count()}
    revoke = row_actions.allowed(site, request, Connection, "revoke")
    return {
        **site.each_context(request),
        "title": claim.sub,
        "claim": claim,
        "reference": reference,
        "issuer": (issuer.name or issuer.slug) if issuer else "",
        "member": member,
        "member_url": admin_url(member) if member and may(request, "elicit_flows.view_member") else "",
        "counts": counts,
        "erasing": people.erasure_pending(claim),
        "parts": _sections(request, {
            "connections": live.order_by("provider__name", "-created_at", "pk"),
            "requests": asked.order_by("-created_at", "pk"),
            "payments": paid.order_by("-created_at", "pk"),
            "mandates": given.order_by("-created_at", "pk"),
            "ended": connections.filter(**theirs, status=Connection.Status.REVOKED).order_by("-revoked_at", "pk"),
        }, {"connections": lambda rows: _by_provider(site, rows, revoke=revoke), "requests": _requests,
            "payments": _of_money, "mandates": _of_money,
            "ended": lambda rows: [_connection(site, row, revoke=False) for row in rows]}),
        "disconnect": RowAction(
            "revoke", EVERYTHING, _("Disconnect everything"),
            warning=_("Every agent loses every access of this person at once, and the providers are told."),
        ) if revoke and counts["connections"] else None,
        "sessions": people.sessions_of(claim)[:MANY],
        "signed_out": SignOut.objects.filter(**theirs).first(),
        "end_sessions": RowAction(
            "end_sessions", "", _("End all sessions"),
            warning=_("They have to sign in again on every device. What agents can use stays connected."),
        ) if may(request, END_SESSIONS) else None,
    }  # fmt: skip


def _sections(
    request: HttpRequest, queries: dict[str, QuerySet[Any]], words: dict[str, Callable[[list[Any]], Any]]
) -> dict[str, Any]:
    """Each part of the page, a few rows of each; or the one part that the address asks for, a page at a time."""
    alone = request.GET.get("show", "")
    number = request.GET.get("page", "")
    place = int(number) if number.isdecimal() and 0 < len(number) < 5 else 1
    found = {}
    for name, rows in queries.items():
        if alone in queries and name != alone:
            continue
        size, first = (MANY, max(place - 1, 0) * MANY) if name == alone else (FEW, 0)
        some = list(rows[first : first + size + 1])
        more = "" if len(some) <= size else f"?show={name}" + (f"&page={place + 1}" if name == alone else "")
        found[name] = {"rows": words[name](some[:size]), "more": more, "alone": name == alone}
    return found


def _by_provider(site: AdminSite, rows: list[Connection], *, revoke: bool) -> list[dict[str, Any]]:
    """Connections by provider. All at one can be ended together."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        slug = row.provider.slug if row.provider else ""
        name = row.provider.name if row.provider else _("Typed by the person")
        group = found.setdefault(slug, {"name": name, "connections": [], "button": None})
        group["connections"].append(_connection(site, row, revoke=revoke))
        if revoke and slug:
            warning = _("Every agent loses its access to this provider at once. The provider is told.")
            label = _("Disconnect all at %(provider)s") % {"provider": name}
            group["button"] = RowAction("revoke", f"{AT_PROVIDER}{slug}", label, warning=warning)
    return list(found.values())


def _connection(site: AdminSite, row: Connection, *, revoke: bool) -> dict[str, Any]:
    page: Any = site.get_model_admin(Connection)
    health = page.health(row)
    warning = _("The agent loses its access at once, and the provider is told. The agent can ask again.")
    about = f"{row.agent.name} {row.account_label}"
    return {
        "row": row,
        "url": admin_url(row),
        "health": HEALTH.get(health, health),
        "well": health in ("ok", "revoked"),
        "button": RowAction("revoke", row.pk, _("Disconnect"), about=about, warning=warning) if revoke else None,
    }


def _requests(rows: list[Elicitation]) -> list[dict[str, Any]]:
    return [{"row": row, "url": request_page.url_of(row), "status": request_page.STANDS[row.status][0]} for row in rows]


def _of_money(rows: list[Payment] | list[Mandate]) -> list[dict[str, Any]]:
    return [{"row": row, "url": admin_url(row), "status": row.get_status_display()} for row in rows]
