"""The pages of a provider: a new one by its preset, with only the fields that the preset leaves open; and an existing
one with its callback, its test, and those fields.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.forms import BoundField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from elicit_flows import catalogue, vault
from elicit_flows.admin.base import admin_url, list_url
from elicit_flows.admin.forms import as_sentence
from elicit_flows.admin.pictures import PictureField
from elicit_flows.admin.providers import ProviderAdmin, ProviderForm
from elicit_flows.catalogue import Entry
from elicit_flows.catalogue.parts import Variable
from elicit_flows.catalogue.probe import ProbeResult, probe_settings
from elicit_flows.config_file import InvalidValue
from elicit_flows.config_file.schema import TABLES
from elicit_flows.models import Agent, Connection, Provider

CLIENT = ("client_id", "new_client_secret")
ADDRESSES = ("issuer", "authorize_url", "token_url", "userinfo_url")
MAX_COUNT = 1000  # connections that are counted for the page
MAX_AGENTS = 50  # that the page names


@dataclass(frozen=True, slots=True)
class VariableField:
    """What the operator types for a variable of the preset. ``may_ask``: left empty, each person is asked for it."""

    variable: Variable
    value: str
    may_ask: bool

    @property
    def input_name(self) -> str:
        return f"variable-{self.variable.name}"


def url_of(row: Provider) -> str:
    return reverse("admin:provider", args=[row.slug])


def add(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """First the preset and the slug, since the callback follows from the slug; then what the preset leaves open."""
    admin = _admin(site)
    if not admin.has_add_permission(request):
        raise PermissionDenied
    said = request.POST or request.GET
    entry = catalogue.find(said.get("preset", ""))
    slug = said.get("slug", "").strip() or (entry.slug if entry else "")
    problem = _problem(slug) if entry else ""
    if entry is None or problem:
        entries = sorted(catalogue.entries().values(), key=lambda one: one.name.lower())
        return TemplateResponse(request, "admin/operators/provider_add.html", {
            **site.each_context(request), "title": _("Add a provider"), "entries": entries, "entry": entry,
            "slug": slug, "problem": problem, "all_fields": reverse("admin:elicit_flows_provider_add"),
        }, status=400 if problem else 200)  # fmt: skip
    row = Provider(slug=slug, preset=entry.slug, sort=entry.sort)
    form = _form(admin, request, row, entry, posted=request.POST or None)
    if request.method == "POST" and form.is_valid():
        _save(admin, request, form, new=True)
        return HttpResponseRedirect(url_of(form.instance))
    title = _("Add %(name)s") % {"name": entry.name}
    return _answer(site, request, row, entry, {"form": form, "title": title, "may_change": True})


def page(site: AdminSite, request: HttpRequest, slug: str) -> HttpResponse:
    admin, row = _found(site, request, slug)
    entry = catalogue.find(row.preset)
    may_change = _may_change(admin, request, row)
    if request.method == "POST" and not may_change:
        raise PermissionDenied
    form = _form(admin, request, row, entry, posted=request.POST or None) if may_change else None
    if form and request.method == "POST" and form.is_valid():
        _save(admin, request, form, new=False)
        return HttpResponseRedirect(url_of(row))
    return _answer(site, request, row, entry, {"form": form, "title": row.name, "may_change": may_change})


def test(site: AdminSite, request: HttpRequest, slug: str) -> HttpResponse:
    """Asks the provider's servers what ``manage.py providers test`` asks them, at the addresses of this row."""
    admin, row = _found(site, request, slug)
    if request.method != "POST":
        return HttpResponseRedirect(url_of(row))
    if not _may_change(admin, request, row):
        raise PermissionDenied
    results: list[ProbeResult] = list(probe_settings(row.sort, row.settings(), row.quirks()))
    entry = catalogue.find(row.preset)
    more = {"form": _form(admin, request, row, entry), "title": row.name, "may_change": True, "results": results}
    return _answer(site, request, row, entry, more)


def _admin(site: AdminSite) -> ProviderAdmin:
    return cast(ProviderAdmin, site.get_model_admin(Provider))


def _found(site: AdminSite, request: HttpRequest, slug: str) -> tuple[ProviderAdmin, Provider]:
    admin = _admin(site)
    if not admin.has_view_permission(request):
        raise PermissionDenied
    pk = Provider.objects.filter(slug=slug).values_list("pk", flat=True).first()
    row = admin.get_object(request, str(pk)) if pk is not None else None  # with what the preset says today
    if row is None:
        raise Http404
    return admin, row


def _may_change(admin: ProviderAdmin, request: HttpRequest, row: Provider) -> bool:
    return admin.has_change_permission(request, row)


def _problem(slug: str) -> str:
    """What is wrong with the slug of a new provider, or ""."""
    try:
        TABLES["provider"]["slug"].rule(slug)
    except InvalidValue as error:
        return as_sentence(error)
    if Provider.objects.filter(slug=slug).exists():
        return _("There is a provider with the slug %(slug)s already. Use another slug.") % {"slug": slug}
    return ""


def open_fields(row: Provider, entry: Entry | None) -> tuple[str, ...]:
    """The fields of the admin's form that an operator has to think about; the preset or a default says the rest."""
    if row.sort == Provider.Sort.CREDENTIALS:
        return () if entry else ("name", "find_url")
    token_auth = row.token_auth if row.pk or entry is None else entry.token_auth
    client = () if row.registration != "off" else CLIENT[:1] if token_auth == "none" else CLIENT
    return (*(() if entry else ("name", *ADDRESSES)), *client, "scopes")


def _form(
    admin: ProviderAdmin, request: HttpRequest, row: Provider, entry: Entry | None, posted: QueryDict | None = None
) -> ProviderForm:
    """The admin's form, filled in with ``posted``. What the page does not show of it is sent as it is."""
    made = admin.get_form(request, row if row.pk else None, change=bool(row.pk))
    form = made(instance=row)
    if posted is None:
        return cast(ProviderForm, form)
    shown = open_fields(row, entry)
    data = QueryDict(mutable=True)
    for field in form:
        if field.name in shown:
            data[field.html_name] = posted.get(field.html_name, "")
        else:
            data.update(_as_sent(field))
    if not row.pk and entry:
        typed = {one.variable.name: one.value for one in _variables(request, row, entry) if one.value}
        data["variables"] = json.dumps(typed)
    return cast(ProviderForm, made(data, instance=row))


def _as_sent(field: BoundField) -> dict[str, str]:
    """What a browser sends of a field that nobody touched."""
    value = field.value()
    if isinstance(field.field, PictureField):
        return {f"{field.html_name}-kept": str(value or "")}
    if isinstance(field.field, forms.BooleanField):
        return {field.html_name: "on"} if value else {}
    return {field.html_name: "" if value is None else str(value)}


def _variables(request: HttpRequest, row: Provider, entry: Entry) -> list[VariableField]:
    return [
        VariableField(one, request.POST.get(f"variable-{one.name}", "").strip(), entry.may_be_asked(one.name))
        for one in entry.variables
        if not row.pk
    ]


def _save(admin: ProviderAdmin, request: HttpRequest, form: ProviderForm, *, new: bool) -> None:
    with transaction.atomic():
        row = form.save(commit=False)
        admin.save_model(request, row, form, change=not new)
        message = admin.construct_change_message(request, form, [], new)
        (admin.log_addition if new else admin.log_change)(request, row, message)
    said = _("%(name)s is set up. Agents ask for it as “%(slug)s”.") if new else _("%(name)s is saved.")
    admin.message_user(request, said % {"name": row.name, "slug": row.slug})


def _answer(
    site: AdminSite, request: HttpRequest, row: Provider, entry: Entry | None, more: dict[str, Any]
) -> HttpResponse:
    form, names = more["form"], open_fields(row, entry)
    errors = form.errors if form else {}
    context = {
        **site.each_context(request),
        "row": row,
        "entry": entry,
        "name": entry.name if entry else row.name,
        "fields": [form[name] for name in names] if form else [],
        "faults": [fault for name, faults in errors.items() if name not in names for fault in faults],
        "variables": _variables(request, row, entry) if entry else [],
        "callback": f"{settings.ELICIT_PUBLIC_URL}/callback/{row.client_slug or row.slug}",
        **more,
    }
    if row.pk:
        context |= {
            "left_out": vault.hosts_in_words(vault.calls_left_out(row)),
            "agents": Agent.objects.filter(providers=row).order_by("name")[:MAX_AGENTS],
            "connections": Connection.objects.filter(provider=row).exclude(status="revoked")[:MAX_COUNT].count(),
            "most": MAX_COUNT,
            "connections_url": list_url(Connection, provider__id__exact=row.pk),
            "all_fields": admin_url(row),
            "switch_url": admin_url(row, "switch") if _admin(site).may_switch(request, row) else "",
        }
    status = 400 if errors else 200
    return TemplateResponse(request, "admin/operators/provider.html", context, status=status)
