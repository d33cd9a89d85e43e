"""The agents' API, put together."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja.errors import HttpError, ValidationError

from elicit_flows import __version__
from elicit_flows.api import (
    codes,
    connections,
    deliveries,
    drafts,
    elicitations,
    entitlements,
    events,
    exchange,
    notes,
    payments,
    problems,
    wires,
)
from elicit_flows.api.auth import by_request
from elicit_flows.api.body import StrictParser
from elicit_flows.api.openapi import DescribedAPI
from elicit_flows.errors import BadRequest, FlowError, Invalid

DESCRIPTION = (
    "Ask a user to do what must not pass through a model or a client. "
    "Errors are RFC 9457 problem details; another agent's thing answers as a thing that does not exist."
)

api = DescribedAPI(
    title="Elicit Flows",
    version=__version__,
    description=DESCRIPTION,
    docs_url=None,
    openapi_url="/openapi.json",
    urls_namespace="v1",
    parser=StrictParser(),
    auth=by_request,
)
api.add_router("/elicitations", elicitations.router)
api.add_router("/elicitations", drafts.router)
api.add_router("/elicitations", notes.router)
api.add_router("/elicitations", codes.router)
api.add_router("/elicitations", wires.router)
api.add_router("/events", events.router)
api.add_router("/connections", connections.router)
api.add_router("/token", exchange.router)
api.add_router("/payments", payments.router)
api.add_router("/entitlements", entitlements.router)
api.add_router("/webhooks", deliveries.router)


@api.exception_handler(FlowError)
def flow_error(request: HttpRequest, error: FlowError) -> HttpResponse:
    return problems.response(error)


@api.exception_handler(ValidationError)
def shape_error(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """What pydantic found, at the places where the agent wrote it."""
    found: list[dict[str, object]] = [
        {"loc": _place(item["loc"]), "message": str(item["msg"])} for item in error.errors
    ]
    return problems.response(Invalid(found, _sentence(error)))


def _sentence(error: ValidationError) -> str:
    first = error.errors[0]
    return f"{'.'.join(map(str, _place(first['loc'])))}: {first['msg']}"


def _place(loc: list[str | int]) -> list[str | int]:
    """Without ninja's parameter names: ("body", "ask", "subject") is ["subject"], ("query", "limit") stays."""
    return list(loc[2:]) or ["body"] if loc[0] == "body" else list(loc)


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """ninja wraps what the body parser raised."""
    cause = error.__cause__
    if isinstance(cause, FlowError):
        return problems.response(cause)
    return problems.response(BadRequest(error.message))
