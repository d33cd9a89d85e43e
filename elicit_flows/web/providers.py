"""The public catalogue page: known providers, how each was checked, and its sources."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from elicit_flows import catalogue

KINDS = {
    "oauth": _("OAuth"),
    "api_key": _("API key"),
    "basic": _("User name and password"),
    "client_credentials": _("Client of your own"),
}
CHECKED = {
    "document": _("The provider's documentation was read"),
    "library": _("Several libraries have the same addresses"),
    "unverified": _("Not checked"),
}
MAX_SOUGHT = 100  # characters


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """``?q=`` is part of a name or slug; ``kind`` and ``checked`` have the values of the entries."""
    asked = {name: request.GET.get(name, "")[:MAX_SOUGHT].strip() for name in ("q", "kind", "checked")}
    entries, sought = list(catalogue.entries().values()), asked["q"].lower()
    found = [
        entry
        for entry in sorted(entries, key=lambda entry: entry.name.lower())
        if (sought in entry.name.lower() or sought in entry.slug)
        and asked["kind"] in ("", entry.kind)
        and asked["checked"] in ("", entry.checked)
    ]
    context = {
        "asked": asked,
        "kinds": KINDS.items(),
        "levels": CHECKED.items(),
        "entries": [
            {
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
            for entry in found
        ],
        "total": len(entries),
    }
    return render(request, "catalogue.html", context)
