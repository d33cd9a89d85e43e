"""/v1/authorizations: payments by HTTP 402 that people agreed to, and having one signed."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router

from elicit_flows import vault
from elicit_flows.api import authorization_shapes, openapi, parsing, schemas
from elicit_flows.api.owned_rows import own_authorization
from elicit_flows.api.responses import AgentRequest, answer, listed
from elicit_flows.models import Authorization
from elicit_flows.payments import authorizations

router = Router(tags=["authorizations"])


class Filter(schemas.OfUser, schemas.Paging):
    elicitation: str | None = None


@router.get("", response=authorization_shapes.AuthorizationList, summary="List payments by HTTP 402, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    """Those that a person has agreed to."""
    wanted = {"iss": query.iss, "sub": query.sub, "elicitation_id": query.elicitation}
    rows = authorizations.of_agent(request.auth)
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    return listed(request, query, rows, Authorization.summary)


@router.get("/{authorization_id}", response=authorization_shapes.Authorization, summary="Get a payment by HTTP 402")
def get(request: AgentRequest, authorization_id: str) -> HttpResponse:
    return answer(own_authorization(request.auth, authorization_id).summary())


@router.post(
    "/{authorization_id}/sign",
    response=authorization_shapes.PaymentHeader,
    summary="Get the header that pays, once",
    openapi_extra=openapi.IDEMPOTENT,
)
def sign(request: AgentRequest, authorization_id: str) -> HttpResponse:
    """The first call has the payment signed. Repeated with the same ``Idempotency-Key`` it gives the same header, for
    as long as that is valid; every other call is 409 ``already_consumed``. 409 ``conflict`` when it is too late, or
    when your operator no longer allows the payment.
    """
    key = parsing.idempotency_key(request.headers)
    header, known = authorizations.sign(own_authorization(request.auth, authorization_id), key, vault.signed_transfer)
    return answer(header, Idempotency_Replayed="true") if known else answer(header)
