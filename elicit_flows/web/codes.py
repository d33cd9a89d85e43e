"""Where a code is typed in place of a link."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from elicit_flows import flow
from elicit_flows.errors import NotFound, TooMany
from elicit_flows.lib.limits import hit
from elicit_flows.web import pages

TRIES = 20  # a minute, from one address: beyond it somebody is guessing


@require_http_methods(["GET", "HEAD", "POST"])
@pages.says_why
def enter(request: HttpRequest) -> HttpResponse:
    typed = request.POST.get("code", "")
    if request.method != "POST":
        return _form(request, typed)
    if not hit(f"code:{request.META.get('REMOTE_ADDR')}", TRIES, 60):
        raise TooMany("Too many codes, from your address.", retry_after=60)
    try:
        return pages.SeeOther(f"/c/{flow.by_code(typed).pk}")
    except NotFound:
        return _form(request, typed, unknown=True)


def _form(request: HttpRequest, typed: str, *, unknown: bool = False) -> HttpResponse:
    return render(request, "code.html", {"typed": typed, "unknown": unknown}, status=422 if unknown else 200)
