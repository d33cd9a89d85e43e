"""Answering, and paging through lists."""

from __future__ import annotations

from datetime import datetime

from django.core.signing import BadSignature, Signer
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse

from elicit_flows.api.problems import JSON_HEADERS, dumps
from elicit_flows.errors import BadCursor
from elicit_flows.models import Agent
from elicit_flows.values import Json


class AgentRequest(HttpRequest):
    """A request that passed auth.by_request."""

    auth: Agent


def answer(body: Json, status: int = 200, **headers: str) -> HttpResponse:
    """Written as it is: the shapes are promised in schemas.py and checked against it by the tests."""
    response = HttpResponse(dumps(body), status=status)
    for name, value in JSON_HEADERS:
        response[name.decode()] = value.decode()
    for header, text in headers.items():
        response[header.replace("_", "-")] = text
    return response


def page(rows: QuerySet, agent: Agent, cursor: str, limit: int) -> tuple[list, str | None]:  # type: ignore[type-arg]
    """Newest first: up to ``limit`` rows behind ``cursor``, and the cursor of what follows."""
    if cursor:
        created, pk = _read(agent, cursor)
        rows = rows.filter(Q(created_at__lt=created) | Q(created_at=created, pk__lt=pk))
    found = list(rows.order_by("-created_at", "-pk")[: limit + 1])
    following = _write(agent, found[limit - 1]) if len(found) > limit else None
    return found[:limit], following


def _write(agent: Agent, row: Model) -> str:
    created: datetime = row.created_at  # type: ignore[attr-defined]
    return _signer(agent).sign(f"{created.isoformat()}~{row.pk}")


def _read(agent: Agent, cursor: str) -> tuple[datetime, str]:
    try:
        created, _, pk = _signer(agent).unsign(cursor).partition("~")
        return datetime.fromisoformat(created), pk
    except (BadSignature, ValueError) as error:
        raise BadCursor("Use the next_cursor of the page before, or leave it out.") from error


def _signer(agent: Agent) -> Signer:
    return Signer(sep="*", salt=f"elicit_flows.list.{agent.pk}")
