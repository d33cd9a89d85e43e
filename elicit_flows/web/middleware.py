"""Headers on every answer, and a second lock on every form."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from elicit_flows.api import problems
from elicit_flows.api.oauth_errors import Refusal
from elicit_flows.errors import BadRequest, FlowError, Forbidden, MethodNotAllowed, NotFound, Unavailable
from elicit_flows.web import pages

GetResponse = Callable[[HttpRequest], HttpResponse]
_UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
_BY_STATUS: dict[int, type[FlowError]] = {
    kind.status: kind for kind in (BadRequest, Forbidden, NotFound, MethodNotAllowed, Unavailable)
}

# Browsers hold the redirect that follows a form to form-action too, and a provider may redirect again: so a form may
# lead to any https host, and the line decides to which (docs/adr/0008).
_LEAVES = "https:" + (" http://127.0.0.1:* http://localhost:*" if settings.ELICIT_ALLOW_LOOPBACK else "")
CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    f"connect-src 'self'; form-action 'self' {_LEAVES}; base-uri 'none'; frame-ancestors 'none'"
)


class Headers:
    """Strict headers on everything, errors too; under /v1 every error is a problem document.

    A form on a page with no-referrer is sent with ``Origin: null``, which the CSRF check refuses. So our pages say
    same-origin of themselves (base.html), and the admin's, which are Django's, get it here. Neither tells other hosts.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if request.path.startswith("/v1/") and response.status_code >= 400:
            response = _as_problem(response)
        response.setdefault("Content-Security-Policy", CSP)
        response.setdefault("X-Frame-Options", "DENY")
        response.setdefault("X-Content-Type-Options", "nosniff")
        response["Referrer-Policy"] = "same-origin" if request.path.startswith("/admin/") else "no-referrer"
        response.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
        if not request.path.startswith(settings.STATIC_URL):
            response["Cache-Control"] = "no-store"
        return response


def _as_problem(response: HttpResponse) -> HttpResponse:
    """What Django or ninja answered by themselves, said as everything else under /v1."""
    if isinstance(response, Refusal) or response.get("Content-Type", "").startswith(problems.PROBLEM):
        return response
    replaced = problems.response(_BY_STATUS.get(response.status_code, FlowError)())
    for name in ("Allow", "Retry-After"):
        if name in response:
            replaced[name] = response[name]
    return replaced


# A site's word for a browser comes from that site. It is signed, and read without a cookie (web/vouching.py).
_FROM_ELSEWHERE = re.compile(r"/v1/.*|/login/[\w-]+/vouch")


class SameSite:
    """Refuse what a browser says was sent from another site (Fetch Metadata), before any cookie is looked at."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        foreign = request.headers.get("Sec-Fetch-Site", "none") not in {"same-origin", "none"}
        if foreign and request.method in _UNSAFE and not _FROM_ELSEWHERE.fullmatch(request.path):
            return pages.refused(request, 403, "This was sent from another site", "Nothing was done.")
        return self._get_response(request)
