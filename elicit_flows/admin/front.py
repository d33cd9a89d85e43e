"""The front page: what needs attention, how the service did, one box to search."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from elicit_flows.admin import attention, figures


def context(request: HttpRequest) -> dict[str, Any]:
    chosen = figures.SPANS.get(request.GET.get("span", ""), figures.SPANS["24h"])
    return {
        "notices": attention.notices(),
        "figures": figures.of(chosen),
        "span": chosen.name,
        "spans": list(figures.SPANS),
    }
