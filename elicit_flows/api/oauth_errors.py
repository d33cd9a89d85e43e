"""Errors of the one call that speaks OAuth, as clients of OAuth read them (RFC 6749, section 5.2; RFC 8693, 2.2.2)."""

from __future__ import annotations

import re
from http import HTTPStatus

from django.http import HttpResponse

from elicit_flows.api.problems import JSON_HEADERS, dumps, extra_headers
from elicit_flows.errors import (
    BadRequest,
    FlowError,
    InvalidScope,
    ProviderUnavailable,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
    UnsupportedGrant,
    UnsupportedMedia,
)

# The first that fits; what is not here is about the target: no such connection, or one that gives nothing now.
_NAMES: tuple[tuple[type[FlowError], str], ...] = (
    (Unauthenticated, "invalid_client"),
    (UnsupportedGrant, "unsupported_grant_type"),
    (InvalidScope, "invalid_scope"),
    (BadRequest, "invalid_request"),
    (TooLarge, "invalid_request"),
    (UnsupportedMedia, "invalid_request"),
    (TooMany, "temporarily_unavailable"),
    (ProviderUnavailable, "temporarily_unavailable"),
    (Unavailable, "temporarily_unavailable"),
)
_KEPT = {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_UNSAYABLE = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")


class Refusal(HttpResponse):
    """No problem document, and not to be made one."""


def refusal(error: FlowError) -> Refusal:
    """``code`` is that of the problem that every other call would answer with."""
    name = next((name for kind, name in _NAMES if isinstance(error, kind)), "invalid_target")
    body = {"error": name, "error_description": _UNSAYABLE.sub("'", error.detail), "code": error.code}
    answer = Refusal(dumps(body), status=error.status if error.status in _KEPT else HTTPStatus.BAD_REQUEST)
    headers = {header.decode(): value.decode() for header, value in JSON_HEADERS} | extra_headers(error)
    for header, value in headers.items():
        answer[header] = value
    return answer
