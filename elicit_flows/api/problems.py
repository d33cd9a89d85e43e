"""Errors as RFC 9457 problem details: one body for everything that goes wrong under /v1."""

from __future__ import annotations

import json
from http import HTTPStatus

from django.conf import settings
from django.http import HttpResponse

from elicit_flows.errors import FlowError, Invalid
from elicit_flows.lib.pooled import Headers
from elicit_flows.values import Json

JSON_HEADERS = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"pragma", b"no-cache"),
    (b"x-content-type-options", b"nosniff"),
]
PROBLEM = "application/problem+json"


def dumps(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def problem(error: FlowError) -> Json:
    """type, title, status, detail, code; for 422 also errors: [{loc, message}]."""
    body: Json = {
        "type": f"{settings.ELICIT_PUBLIC_URL}/v1/docs#error-{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
    }
    if isinstance(error, Invalid):
        body["errors"] = error.errors
    return body


def extra_headers(error: FlowError) -> dict[str, str]:
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return headers | ({"WWW-Authenticate": "Bearer"} if error.status == HTTPStatus.UNAUTHORIZED else {})


def response(error: FlowError) -> HttpResponse:
    """For the Django plane."""
    answer = HttpResponse(dumps(problem(error)), status=error.status, content_type=PROBLEM)
    for name, value in extra_headers(error).items():
        answer[name] = value
    return answer


def raw(error: FlowError) -> tuple[int, Headers, bytes]:
    """For the waiting plane: status, headers, body."""
    headers = [(b"content-type", PROBLEM.encode()), *JSON_HEADERS[1:]]
    headers += [(name.lower().encode(), value.encode()) for name, value in extra_headers(error).items()]
    return error.status, headers, dumps(problem(error))
