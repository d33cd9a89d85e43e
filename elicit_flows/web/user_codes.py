"""/code, and /device, where agents send people: the page to type a code in place of following a link."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from elicit_flows import elicitations
from elicit_flows.domain.errors import NotFound, TooMany
from elicit_flows.lib import rate_limits
from elicit_flows.web import pages


@require_http_methods(["GET", "HEAD", "POST"])
@pages.errors_as_pages
def enter(request: HttpRequest) -> HttpResponse:
    typed = request.POST.get("code", "")
    if request.method != "POST":
        return _form(request, typed)
    if not rate_limits.USER_CODES.hit_from(request.META["REMOTE_ADDR"]):
        raise TooMany("Too many codes were entered from your network.", retry_after=60)
    try:
        return pages.SeeOther(f"/c/{elicitations.redeem_user_code(typed).pk}")
    except NotFound:
        return _form(request, typed, unknown=True)


def _form(request: HttpRequest, typed: str, *, unknown: bool = False) -> HttpResponse:
    return render(request, "code.html", {"typed": typed, "unknown": unknown}, status=422 if unknown else 200)
