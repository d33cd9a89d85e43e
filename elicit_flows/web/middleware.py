"""Middleware: request ids and the request log, security headers, same-site forms, and refusal of text that cannot be
stored.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from io import BytesIO
from typing import cast

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware
from django.middleware.security import SecurityMiddleware

from elicit_flows.api import responses
from elicit_flows.api.oauth_errors import Refusal
from elicit_flows.domain.errors import BadRequest, FlowError, Forbidden, MethodNotAllowed, NotFound, Unavailable
from elicit_flows.lib import telemetry
from elicit_flows.lib.wsgi_bridge import Headers
from elicit_flows.web import pages

log = logging.getLogger(__name__)

SLOW = 5.0  # seconds
_ELICITATION = re.compile(r"^/(?:c|v1/elicitations)/(el_[\w-]{1,60})(?:/|$)")


class RequestLog:
    """The outermost middleware, so that errors in all others are logged with the request's id."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        named = _ELICITATION.match(request.path)
        with telemetry.LoggedRequest(**({"elicitation": named[1]} if named else {})) as number:
            response = self._traced(request) if telemetry.ON else self._get_response(request)
            response[telemetry.REQUEST_ID] = number
            log_answer(request.method or "", request.path, response.status_code, began)
        return response

    def _traced(self, request: HttpRequest) -> HttpResponse:
        method = request.method or ""
        # An agent's trace is continued here. A browser's header is ignored, because anybody could send one.
        parent = request.headers.get(telemetry.HEADER, "") if request.path.startswith("/v1/") else ""
        with telemetry.span(method, parent, kind="server", http_request_method=method) as span:
            telemetry.add_log_fields(trace_id=telemetry.current()[3:35])
            response = self._get_response(request)
            # The route contains no id.
            route = f"/{request.resolver_match.route}" if request.resolver_match else ""
            span.call(f"{method} {route}".strip())
            span.note(http_route=route, http_response_status_code=response.status_code)
        return response


def log_answer(method: str, path: str, status: int, began: float) -> None:
    """Log a request: all of them if the operator wants that, or else only failed and slow ones."""
    seconds = time.monotonic() - began
    level = logging.WARNING if status >= 500 or seconds > SLOW else logging.INFO
    if level > logging.INFO or settings.ELICIT_LOG_REQUESTS:
        fields = {"method": method, "path": path, "status": status, "milliseconds": round(seconds * 1000)}
        log.log(level, "answered", extra={"fields": fields})


BRAND_URL = "/brand/"
GetResponse = Callable[[HttpRequest], HttpResponse]
_UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
_BY_STATUS: dict[int, type[FlowError]] = {
    kind.status: kind for kind in (BadRequest, Forbidden, NotFound, MethodNotAllowed, Unavailable)
}

# Browsers apply form-action to the redirects after a form as well, and a provider may redirect again. So a form may
# lead to any https host, and the server decides to which (docs/adr/0008).
_NEAR = " http://127.0.0.1:* http://localhost:* http://*.localhost:*"
_LEAVES = "https:" + (_NEAR if settings.ELICIT_ALLOW_LOOPBACK else "")
CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    f"connect-src 'self'; form-action 'self' {_LEAVES}; base-uri 'none'; frame-ancestors 'none'"
)


class SecurityHeaders:
    """Strict headers on every answer, errors included; under /v1 every error is a problem document.

    A form on a page with no-referrer is sent with ``Origin: null``, which the CSRF check refuses. So our own pages set
    same-origin (base.html), and the admin's pages, which are Django's, get it here. Neither reveals anything to other
    hosts.
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
        # A picture or a style sheet of a brand is alike for every reader, so browsers may keep it.
        of_brand = request.path.startswith(BRAND_URL) and response.status_code == 200 and "Cache-Control" in response
        if not of_brand and not request.path.startswith(settings.STATIC_URL):
            response["Cache-Control"] = "no-store"
        return response


def api_headers(scheme: str) -> Headers:
    """Those of every answer of the agents' API, for an answer that does not pass through the middleware.

    The middleware writes them, so they are the same. Content-Length and X-Request-Id are each answer's own.
    """
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/v1/", "wsgi.url_scheme": scheme, "wsgi.input": BytesIO()}
    inner = cast(GetResponse, SecurityMiddleware(lambda _: responses.answer({})))
    response = SecurityHeaders(inner)(WSGIRequest(environ))
    return [(name.lower().encode(), value.encode()) for name, value in response.items()]


def _as_problem(response: HttpResponse) -> HttpResponse:
    """An error of Django or ninja as a problem document, like all others under /v1."""
    if isinstance(response, Refusal) or response.get("Content-Type", "").startswith(responses.PROBLEM):
        return response
    replaced = responses.response(_BY_STATUS.get(response.status_code, FlowError)())
    for name in ("Allow", "Retry-After"):
        if name in response:
            replaced[name] = response[name]
    return replaced


# A site's sign-in assertion comes from that site. It is signed, and read without a cookie (web/login_assertions.py).
_FROM_ELSEWHERE = re.compile(r"/v1/.*|/login/[\w-]+/vouch")


class SameSite:
    """Refuse requests that the browser marks as sent from another site (Fetch Metadata), before any cookie is read."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        foreign = request.headers.get("Sec-Fetch-Site", "none") not in {"same-origin", "none"}
        if foreign and request.method in _UNSAFE and not _FROM_ELSEWHERE.fullmatch(request.path):
            return pages.refused(request, 403, "This was sent from another site", "Nothing was done.")
        return self._get_response(request)


# PostgreSQL cannot store NUL, and UTF-8 cannot encode a lone surrogate.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class StorableText:
    """Refuse text that the database cannot store or search for, wherever it is in a request.

    It checks the text as views will see it: a charset or a quoted cookie can encode NUL without that byte. ``forms``:
    whether views read forms. Where none does, Django does not parse them, and so does not refuse them either.
    """

    def __init__(self, get_response: GetResponse, *, forms: bool = True) -> None:
        self._get_response, self._forms = get_response, forms

    def __call__(self, request: HttpRequest) -> HttpResponse:
        _ = request.body  # read it now, so that a view can still use it after the form was parsed
        texts = list(request.COOKIES.values())
        for fields in (request.GET, request.POST) if self._forms else (request.GET,):
            for name, values in fields.lists():
                texts += [name, *values]
        if _UNSTORABLE.search("\n".join(texts)):
            return pages.refused(
                request, 400, "This request cannot be understood", "It contains a character that cannot be stored."
            )
        return self._get_response(request)


class Views:
    """The innermost middleware: it does nothing, and says what is behind them all. Django makes it first."""

    behind: GetResponse

    def __init__(self, get_response: GetResponse) -> None:
        Views.behind = self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)


class ApiBypass:
    """The agents' API goes around the middleware that only pages need, which took a third of a quick call: static
    files, forms, languages, sessions and who is signed in. Of those from here on it keeps the two that it needs.
    So do the pictures and style sheets of a brand, which are the same for everybody.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        # The API reads JSON, and the one form that it has by itself.
        self._api = StorableText(cast(GetResponse, CommonMiddleware(Views.behind)), forms=False)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return (self._api if request.path.startswith(("/v1/", BRAND_URL)) else self._get_response)(request)
