"""Template context of every page."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from elicit_flows.brands import page_brand
from elicit_flows.web import languages


def service(request: HttpRequest) -> dict[str, object]:
    # A page from outside the middleware of sessions has no token for a form.
    switch = hasattr(request, "session")
    return {
        # Looked up by the pages that show it. Those of a request replace it with the look of its agent.
        "brand": SimpleLazyObject(page_brand.of),
        "allow_loopback": settings.ELICIT_ALLOW_LOOPBACK,
        "timezone_cookie": settings.ELICIT_TIMEZONE_COOKIE,
        "languages": languages.offered(request) if switch else [],
        "same_page": languages.same_page(request) if switch else "",
    }
