"""Errors of the token exchange, in the form of OAuth (RFC 6749, section 5.2; RFC 8693, section 2.2.2)."""

from __future__ import annotations

import re
from http import HTTPStatus

from django.http import HttpResponse

from elicit_flows.api.responses import JSON_HEADERS, dumps, extra_headers, sentence
from elicit_flows.domain.errors import (
    BadRequest,
    FlowError,
    Invalid,
    InvalidScope,
    ProviderUnavailable,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
    UnsupportedGrant,
    UnsupportedMedia,
)

# The first one that fits. All other errors are about the target: no such connection, or one without a token.
_NAMES: tuple[tuple[type[FlowError], str], ...] = (
    (Unauthenticated, "invalid_client"),
    (UnsupportedGrant, "unsupported_grant_type"),
    (InvalidScope, "invalid_scope"),
    (BadRequest, "invalid_request"),
    (Invalid, "invalid_request"),
    (TooLarge, "invalid_request"),
    (UnsupportedMedia, "invalid_request"),
    (TooMany, "temporarily_unavailable"),
    (ProviderUnavailable, "temporarily_unavailable"),
    (Unavailable, "temporarily_unavailable"),
)
_OTHER = "invalid_target"
OAUTH_ERRORS = tuple(dict.fromkeys([*(name for _, name in _NAMES), _OTHER]))
_KEPT = {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_UNSAYABLE = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")


class Refusal(HttpResponse):
    """An OAuth error, which the middleware must not turn into a problem document."""


def refusal(error: FlowError) -> Refusal:
    """The answer for ``error``. ``code`` is the code that the problem document of any other call would have."""
    name = next((name for kind, name in _NAMES if isinstance(error, kind)), _OTHER)
    body = {"error": name, "error_description": _UNSAYABLE.sub("'", sentence(error)), "code": error.code}
    answer = Refusal(dumps(body), status=error.status if error.status in _KEPT else HTTPStatus.BAD_REQUEST)
    headers = {header.decode(): value.decode() for header, value in JSON_HEADERS} | extra_headers(error)
    for header, value in headers.items():
        answer[header] = value
    return answer
