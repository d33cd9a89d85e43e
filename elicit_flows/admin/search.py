"""The search of the admin: for an id of this service, an agent, a provider or a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from elicit_flows.admin import persons, request_page
from elicit_flows.admin.base import admin_url, list_url
from elicit_flows.admin.roles import SEE_PEOPLE, may
from elicit_flows.elicitations.user_codes import find_user_code
from elicit_flows.models import (
    Agent,
    Authorization,
    Connection,
    Delivery,
    Elicitation,
    Event,
    IdentityProvider,
    Mandate,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
    Subscription,
)

BY_PREFIX: dict[str, type[Model]] = {
    "el_": Elicitation, "ev_": Event, "dl_": Delivery, "cn_": Connection, "pa_": Payment, "re_": Refund,
    "su_": Subscription, "ma_": Mandate, "xa_": Authorization,
}  # fmt: skip
BY_SLUG: tuple[type[Model], ...] = (Agent, Provider, IdentityProvider, PaymentAccount)


@dataclass(frozen=True, slots=True)
class Result:
    """A row that was found. ``words``: what else the page says about it."""

    name: str
    url: str
    words: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """``only``: a person who is the only one that was found."""

    title: str
    results: list[Result]
    only: bool = False


def search_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Searched by POST: the name of a person should not be in a URL, which browsers and proxies keep."""
    wanted = (request.POST.get("q") or "").strip()[:500]
    address = _by_id(wanted)
    if address:
        return HttpResponseRedirect(address)
    groups = list(_by_slug(wanted)) if wanted else []
    if wanted and may(request, SEE_PEOPLE):
        found = [(claim, persons.reference_to(claim)) for claim in persons.find(wanted)]
        people = [Result(claim.sub, persons.url_of(name), (claim.iss,)) for claim, name in found if name]
        if people:
            groups.append(ResultGroup(_("People"), people, only=len(people) == 1))
    if len(groups) == 1 and groups[0].only:
        return HttpResponseRedirect(groups[0].results[0].url)
    title = _("Results for “%(wanted)s”") % {"wanted": wanted} if wanted else _("Search")
    context = {**site.each_context(request), "title": title, "wanted": wanted, "groups": groups}
    return TemplateResponse(request, "admin/operators/search.html", context)


def _by_id(wanted: str) -> str:
    """The page of the row with this id, link or code of a link; "" if there is none."""
    model = BY_PREFIX.get(wanted[:3])
    if wanted.startswith(("http://", "https://")) and "/c/el_" in wanted:  # a link, as people send it to the operator
        model, wanted = Elicitation, wanted.split("/c/")[1].split("/", maxsplit=1)[0].split("?", maxsplit=1)[0]
    if model:
        row = model._default_manager.filter(pk=wanted).first()
    else:
        code = find_user_code(wanted)  # not used up: the person may still type it
        row = code and code.elicitation
    if row is None:
        return ""
    return request_page.url_of(row) if isinstance(row, Elicitation) else admin_url(row)


def _by_slug(wanted: str) -> Iterator[ResultGroup]:
    """An agent, provider or account, with links to the lists of what belongs to it."""
    for model in BY_SLUG:
        for row in model._default_manager.filter(slug__iexact=wanted):
            results = [Result(str(row), admin_url(row), (_("settings"),))]
            if isinstance(row, Agent):
                results += [
                    Result(name, list_url(listed, agent__id__exact=row.pk))
                    for name, listed in ((_("Elicitations"), Elicitation), (_("Connections"), Connection),
                                         (_("Payments"), Payment), (_("Subscriptions"), Subscription),
                                         (_("Mandates"), Mandate), (_("Deliveries"), Delivery))
                ]  # fmt: skip
            elif isinstance(row, Provider):
                results.append(Result(_("Connections"), list_url(Connection, provider__id__exact=row.pk)))
            elif isinstance(row, PaymentAccount):
                results.append(Result(_("Payments"), list_url(Payment, account__id__exact=row.pk)))
            yield ResultGroup(f"{model._meta.verbose_name}".capitalize(), results)
