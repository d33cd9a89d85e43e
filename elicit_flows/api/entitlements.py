"""/v1/entitlements: what users have paid for, and using it."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows.api import schemas
from elicit_flows.api.owned_rows import own_entitlement
from elicit_flows.api.responses import AgentRequest, answer, listed
from elicit_flows.payments import entitlements, queries

router = Router(tags=["entitlements"])


class Filter(schemas.OfUser, schemas.Paging):
    item: str | None = Field(None, min_length=1)


@router.get("", response=schemas.EntitlementList, summary="List what was paid for, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    """``usable`` says whether it can be used now; ``status`` says why not, if it was refunded or disputed. ``livemode``
    false: it was paid for in test mode, and an agent with a live payment account can never use it.
    """
    wanted = {"iss": query.iss, "sub": query.sub, "item": query.item}
    rows = queries.entitlements_of(request.auth)
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    live_only = entitlements.live_only(request.auth)
    return listed(request, query, rows, lambda row: row.summary(live_only=live_only))


@router.post("/{entitlement_id}/consume", response=schemas.Entitlement, summary="Use it once")
def consume(request: AgentRequest, entitlement_id: str, ask: schemas.ConsumeRequest) -> HttpResponse:
    """The same ``key`` again is the same use. 409 if it is used up, expired, suspended or revoked, or if it was paid
    for in test mode and the agent has a live payment account.
    """
    row = entitlements.consume(own_entitlement(request.auth, entitlement_id), ask.key)
    return answer(row.summary(live_only=entitlements.live_only(request.auth)))
