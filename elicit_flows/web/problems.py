"""Django's own refusals, as our pages."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from elicit_flows.web import pages


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    detail = "Your browser did not send what proves that you pressed the button here. Go back, reload, and try again."
    return pages.refused(request, 403, "This form cannot be taken", detail)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return pages.refused(request, 404, "There is no such page", "Check the address, or go to the front page.", "/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return pages.refused(request, 400, "This request cannot be understood", "Go back and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return pages.refused(request, 403, "This is not allowed", "You may not do this here.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the exception is being handled. A database that is away comes back, which is no error of ours.

    The page is rendered without the request, whose session may be what cannot be read.
    """
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return HttpResponse(render_to_string("500.html", {"http_status": 500}), status=500)
    said = {"http_status": 503, "title": "The service cannot answer now", "detail": "Try again in a moment."}
    return HttpResponse(render_to_string("refused.html", said), status=503, headers={"Retry-After": "2"})
