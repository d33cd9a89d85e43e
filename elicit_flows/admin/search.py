"""One box for everything: an id of ours, an agent, a provider, or a person. By POST: a person is in no address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from elicit_flows.admin.links import list_of, page_of
from elicit_flows.admin.roles import SEE_PEOPLE, may
from elicit_flows.models import (
    Agent,
    Connection,
    Delivery,
    Elicitation,
    Event,
    IdentityProvider,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
)

MOST = 50  # of a sort
_BY_PREFIX: dict[str, type[Model]] = {
    "el_": Elicitation, "ev_": Event, "dl_": Delivery, "cn_": Connection, "pa_": Payment, "re_": Refund,
}  # fmt: skip
_CONFIGURED: tuple[type[Model], ...] = (Agent, Provider, IdentityProvider, PaymentAccount)


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was found: its name, where its page is, and a few words about it."""

    name: str
    url: str
    words: tuple[Any, ...]
    at: Any = None


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    lines: list[Line]


def page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    wanted = (request.POST.get("q") or "").strip()[:500]
    row = _by_id(wanted)
    if row is not None:
        return HttpResponseRedirect(page_of(row))
    groups = [*_configured(wanted), *(_of_person(wanted) if may(request, SEE_PEOPLE) else ())] if wanted else []
    groups = [group for group in groups if group.lines]
    title = _("Found for “%(wanted)s”") % {"wanted": wanted} if wanted else _("Search")
    known = {**site.each_context(request), "title": title, "wanted": wanted, "groups": groups, "most": MOST}
    return TemplateResponse(request, "admin/room/search.html", known)


def _by_id(wanted: str) -> Model | None:
    model = _BY_PREFIX.get(wanted[:3])
    if wanted.startswith(("http://", "https://")) and "/c/el_" in wanted:  # the link itself, as people send it
        model, wanted = Elicitation, wanted.split("/c/")[1].split("/", maxsplit=1)[0].split("?", maxsplit=1)[0]
    return model._default_manager.filter(pk=wanted).first() if model else None


def _configured(wanted: str) -> Iterator[Group]:
    """An agent or a provider, with where what hangs on it is listed."""
    for model in _CONFIGURED:
        for row in model._default_manager.filter(slug=wanted.lower()):
            lines = [Line(str(row), page_of(row), (_("settings"),))]
            lines += [Line(name, url, ()) for name, url in _lists(row)]
            yield Group(f"{model._meta.verbose_name}".capitalize(), lines)


def _lists(row: Model) -> Iterator[tuple[str, str]]:
    if isinstance(row, Agent):
        for name, model in ((_("Elicitations"), Elicitation), (_("Connections"), Connection), (_("Payments"), Payment),
                            (_("Deliveries"), Delivery)):  # fmt: skip
            yield name, list_of(model, agent__id__exact=row.pk)
    elif isinstance(row, Provider):
        yield _("Connections"), list_of(Connection, provider__id__exact=row.pk)
    elif isinstance(row, PaymentAccount):
        yield _("Payments"), list_of(Payment, account__id__exact=row.pk)


def _of_person(wanted: str) -> Iterator[Group]:
    """By ``sub``, byte for byte, or ``iss`` and ``sub`` with a blank between; the newest of each sort."""
    iss, _blank, sub = wanted.rpartition(" ")
    who = {"iss": iss.strip(), "sub": sub} if iss.startswith("http") else {"sub": wanted}
    asked = Elicitation.objects.filter(parent=None, **who).select_related("agent").defer("metadata", "result", "params")
    yield _group(_("Elicitations"), asked, lambda row: (row.agent, row.kind, row.status, row.iss))
    held = Connection.objects.filter(**who).select_related("agent", "provider")
    yield _group(_("Connections"), held, lambda row: (row.agent, row.provider or _("typed"), row.status, row.iss))
    paid = Payment.objects.filter(**who).select_related("agent")
    yield _group(_("Payments"), paid, lambda row: (row.agent, row.status, row.iss))


def _group(title: str, rows: QuerySet[Any], words: Any) -> Group:
    found = rows.order_by("-created_at")[:MOST]
    return Group(title, [Line(row.pk, page_of(row), tuple(map(str, words(row))), row.created_at) for row in found])
