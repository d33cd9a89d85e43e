"""Which request it was: a number of its own on the answer and on every log line, and a line for each where asked."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from elicit_flows.lib import logfields, tracing

log = logging.getLogger(__name__)

HEADER = "X-Request-Id"
SLOW = 5.0  # seconds
_ELICITATION = re.compile(r"^/(?:c|v1/elicitations)/(el_[\w-]{1,60})(?:/|$)")


class Logged:
    """The outermost: what goes wrong in any other is told with the request that it went wrong in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        number, began = secrets.token_hex(8), time.monotonic()
        named = _ELICITATION.match(request.path)
        # An agent's own trace goes on here; what a browser, which anybody may have, says of one is not listened to.
        parent = request.headers.get(tracing.HEADER, "") if request.path.startswith("/v1/") else ""
        with (
            logfields.request(request=number, **({"elicitation": named[1]} if named else {})),
            tracing.span(request.method or "", parent, kind="server", http_request_method=request.method or "") as span,
        ):
            if tracing.ON:
                logfields.add(trace_id=tracing.current()[3:35])
            response = self._get_response(request)
            _describe(span, request, response)
            response[HEADER] = number
            _tell(request, response, time.monotonic() - began)
        return response


def _describe(span: tracing.Quiet, request: HttpRequest, response: HttpResponse) -> None:
    """By the route, which has no id in it."""
    route = f"/{request.resolver_match.route}" if request.resolver_match else ""
    span.call(f"{request.method} {route}".strip())
    span.note(http_route=route, http_response_status_code=response.status_code)


def _tell(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """All of them where the operator wants to know; else those alone that somebody may ask about."""
    level = logging.WARNING if response.status_code >= 500 or seconds > SLOW else logging.INFO
    if level > logging.INFO or settings.ELICIT_LOG_REQUESTS:
        fields = {"method": request.method, "path": request.path, "status": response.status_code}
        log.log(level, "answered", extra={"fields": fields | {"milliseconds": round(seconds * 1000)}})
