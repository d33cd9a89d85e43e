"""The catalogue of providers, for anybody: what there is, how far each was checked, and where its facts come from."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from elicit_flows import catalogue
from elicit_flows.catalogue import Entry
from elicit_flows.values import Json

KINDS = {
    "oauth": _("OAuth"),
    "api_key": _("API key"),
    "basic": _("User name and password"),
    "client_credentials": _("Client of your own"),
}
CHECKED = {
    "document": _("The provider’s page was read"),
    "library": _("Libraries agree"),
    "unverified": _("Unverified"),
}
MAX_SOUGHT = 100  # characters


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """``?q=`` is part of a name or a slug; ``kind`` and ``checked`` are as entries say them."""
    asked = {name: request.GET.get(name, "")[:MAX_SOUGHT].strip() for name in ("q", "kind", "checked")}
    entries = list(catalogue.entries().values())
    found = sorted((entry for entry in entries if _fits(entry, asked)), key=lambda entry: entry.name.lower())
    context = {
        "asked": asked,
        "kinds": KINDS.items(),
        "levels": CHECKED.items(),
        "entries": [_shown(entry) for entry in found],
        "total": len(entries),
    }
    return render(request, "catalogue.html", context)


def _fits(entry: Entry, asked: dict[str, str]) -> bool:
    sought = asked["q"].lower()
    if sought not in entry.name.lower() and sought not in entry.slug:
        return False
    return asked["kind"] in ("", entry.kind) and asked["checked"] in ("", entry.checked)


def _shown(entry: Entry) -> Json:
    return {
        "slug": entry.slug,
        "name": entry.name,
        "kind": KINDS[entry.kind],
        "checked": entry.checked,
        "level": CHECKED[entry.checked],
        "checked_on": entry.checked_on,
        "libraries": entry.libraries,
        "note": entry.note,
        "source_url": entry.source_url,
    }
