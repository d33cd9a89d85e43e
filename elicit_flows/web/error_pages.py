"""Pages for Django's own errors."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext

from elicit_flows.jobs import readiness
from elicit_flows.web import pages


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return pages.refused(
        request,
        403,
        "This form cannot be accepted",
        "Your browser did not send the security token of this form. Go back, reload the page, and try again.",
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return pages.refused(request, 404, "There is no such page", "Check the address, or go to the front page.", "/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return pages.refused(request, 400, "This request cannot be understood", "Go back and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return pages.refused(request, 403, "This is not allowed", "You may not do this here.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the exception is being handled. An unavailable database is answered with 503.

    The page is rendered without the request, because its session may be what cannot be read.
    """
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return HttpResponse(render_to_string("500.html", {"http_status": 500}), status=500)
    readiness.suspect()
    said = {
        "http_status": 503,
        "title": gettext("The service is not available now"),
        "detail": gettext("Try again in a moment."),
    }
    return HttpResponse(render_to_string("refused.html", said), status=503, headers={"Retry-After": "2"})
