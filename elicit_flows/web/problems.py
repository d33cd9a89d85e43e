"""Django's own refusals, as our pages."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

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
