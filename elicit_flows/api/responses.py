"""Responses: JSON, pages of lists, and RFC 9457 problem details, the same for everything under /v1."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from elicit_flows.api.schemas import Paging
from elicit_flows.domain.errors import BadCursor, FlowError, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.lib.wsgi_bridge import Headers
from elicit_flows.models import Agent

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
        "detail": sentence(error),
        "code": error.code,
    }
    if isinstance(error, Invalid):
        body["errors"] = error.errors
    return body


def sentence(error: FlowError) -> str:
    """The most helpful sentence: for a wrong value, its place and the reason, such as ``params.amount: Give a …``."""
    if not isinstance(error, Invalid) or not error.errors:
        return error.detail
    return f"{error.place()}: {error.errors[0]['message']}"


def extra_headers(error: FlowError) -> dict[str, str]:
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return headers | ({"WWW-Authenticate": "Bearer"} if error.status == HTTPStatus.UNAUTHORIZED else {})


def response(error: FlowError) -> HttpResponse:
    """The answer in Django."""
    answer = HttpResponse(dumps(problem(error)), status=error.status, content_type=PROBLEM)
    for name, value in extra_headers(error).items():
        answer[name] = value
    return answer


def raw(error: FlowError) -> tuple[int, Headers, bytes]:
    """The answer in the ASGI application: status, headers, body."""
    headers = [(b"content-type", PROBLEM.encode()), *JSON_HEADERS[1:]]
    headers += [(name.lower().encode(), value.encode()) for name, value in extra_headers(error).items()]
    return error.status, headers, dumps(problem(error))


class AgentRequest(HttpRequest):
    """A request that passed auth.by_request."""

    auth: Agent


def answer(body: Json, status: int = 200, **headers: str) -> HttpResponse:
    """Write ``body`` as it is. Tests check that bodies match schemas.py."""
    response = HttpResponse(dumps(body), status=status)
    for name, value in JSON_HEADERS:
        response[name.decode()] = value.decode()
    for header, text in headers.items():
        response[header.replace("_", "-")] = text
    return response


def listed(request: AgentRequest, query: Paging, rows: QuerySet[Any], body: Callable[[Any], Json]) -> HttpResponse:
    """One page of ``rows``, newest first, with the cursor of the next page. ``body`` renders a row. Every list uses
    this.

    Rows need ``created_at``, which never changes, and ``pk``. Every row that exists when the first page is read is
    returned once, whatever is added later.
    """
    # Identifies one list with one set of filters.
    filters = query.model_dump(mode="json", exclude={"limit", "cursor"}, exclude_none=True)
    said = json.dumps([request.path, filters], sort_keys=True)
    of = hashlib.sha256(said.encode()).hexdigest()[:32]
    signer = Signer(sep="*", salt=f"elicit_flows.list.{request.auth.pk}")
    if query.cursor:
        try:
            written, created, pk = signer.unsign_object(query.cursor)
        except (BadSignature, ValueError) as error:
            raise BadCursor("Use the next_cursor of the previous page, or leave it out.") from error
        if written != of:
            raise BadCursor(
                "This cursor belongs to another list or other filters. Send the filters of its page, or leave it out."
            )
        after = datetime.fromisoformat(created)
        rows = rows.filter(Q(created_at__lt=after) | Q(created_at=after, pk__lt=pk))
    found = list(rows.order_by("-created_at", "-pk")[: query.limit + 1])
    page = found[: query.limit]
    following = None
    if len(found) > len(page):
        following = signer.sign_object([of, page[-1].created_at.isoformat(), page[-1].pk])
    return answer({"data": [body(row) for row in page], "next_cursor": following})
