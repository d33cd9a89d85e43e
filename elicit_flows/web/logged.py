"""Which request it was: a number of its own on the answer and on every log line, and a line for each where asked."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from elicit_flows.lib import logfields

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
        with logfields.request(request=number, **({"elicitation": named[1]} if named else {})):
            response = self._get_response(request)
            response[HEADER] = number
            _tell(request, response, time.monotonic() - began)
        return response


def _tell(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """All of them where the operator wants to know; else those alone that somebody may ask about."""
    level = logging.WARNING if response.status_code >= 500 or seconds > SLOW else logging.INFO
    if level > logging.INFO or settings.ELICIT_LOG_REQUESTS:
        fields = {"method": request.method, "path": request.path, "status": response.status_code}
        log.log(level, "answered", extra={"fields": fields | {"milliseconds": round(seconds * 1000)}})
