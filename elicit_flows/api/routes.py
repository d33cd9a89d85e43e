"""The routes of the API, and its error handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja.errors import HttpError, ValidationError
from ninja.operation import Operation, PathView

from elicit_flows import __version__
from elicit_flows.api import (
    agent,
    authorizations,
    connections,
    deliveries,
    drafts,
    elicitations,
    entitlements,
    events,
    mandates,
    notes,
    parsing,
    payments,
    responses,
    subscriptions,
    token_exchange,
    user_codes,
    wires,
)
from elicit_flows.api.auth import by_request
from elicit_flows.api.openapi import DescribedAPI
from elicit_flows.domain.errors import BadRequest, FlowError, Invalid

DESCRIPTION = (
    "Ask a user to do what must not pass through a model or a client. "
    "Errors are RFC 9457 problem details; objects of another agent are answered like ones that do not exist."
)

api = DescribedAPI(
    title="Elicit Flows",
    version=__version__,
    description=DESCRIPTION,
    docs_url=None,
    openapi_url="/openapi.json",
    urls_namespace="v1",
    parser=parsing.StrictParser(),
    auth=by_request,
)
api.add_decorator(parsing.strict, mode="operation")
api.add_router("/agent", agent.router)
api.add_router("/elicitations", elicitations.router)
api.add_router("/elicitations", drafts.router)
api.add_router("/elicitations", notes.router)
api.add_router("/elicitations", user_codes.router)
api.add_router("/elicitations", wires.router)
api.add_router("/events", events.router)
api.add_router("/connections", connections.router)
api.add_router("/token", token_exchange.router)
api.add_router("/payments", payments.router)
api.add_router("/mandates", mandates.router)
api.add_router("/subscriptions", subscriptions.router)
api.add_router("/authorizations", authorizations.router)
api.add_router("/entitlements", entitlements.router)
api.add_router("/webhooks", deliveries.router)


@api.exception_handler(FlowError)
def flow_error(request: HttpRequest, error: FlowError) -> HttpResponse:
    return responses.response(error)


@api.exception_handler(ValidationError)
def shape_error(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """pydantic's errors, with the places in the agent's own request."""
    found: list[dict[str, object]] = []
    for item in error.errors:
        # Without ninja's parameter names: ("body", "ask", "subject") is ["subject"], ("query", "limit") stays.
        place = list(item["loc"])
        place = (place[2:] or ["body"]) if place[0] == "body" else place
        found.append({"loc": place, "message": str(item["msg"])})
    return responses.response(Invalid(found))


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """An error of the body parser, which ninja wraps."""
    cause = error.__cause__
    if isinstance(cause, FlowError):
        return responses.response(cause)
    return responses.response(BadRequest(error.message))


def operations_of(view: Callable[..., Any] | None) -> list[Operation]:
    """One for each method, or more; none if the view is not django-ninja's, whose operations are in its closure."""
    held = [cell.cell_contents for cell in getattr(view, "__closure__", None) or ()]
    return next((one.operations for one in held if isinstance(one, PathView)), [])
