"""What users may use because they paid for it, and using it."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows.api import schemas
from elicit_flows.api.answers import AgentRequest, answer, page
from elicit_flows.api.find import own_entitlement
from elicit_flows.ledger import entitlements, reading

router = Router(tags=["entitlements"])


class Filter(schemas.Strict):
    iss: str | None = None
    sub: str | None = None
    item: str | None = None
    limit: int = Field(20, ge=1, le=100, strict=False)
    cursor: str = ""


@router.get("", response=schemas.EntitlementList, summary="List what was paid for, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    """``usable`` says whether it can be used now; ``status`` says why not, where it was refunded or disputed."""
    wanted = {"iss": query.iss, "sub": query.sub, "item": query.item}
    rows = reading.entitlements_of(request.auth)
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    found, following = page(rows, request.auth, query.cursor, query.limit)
    return answer({"data": [row.summary() for row in found], "next_cursor": following})


@router.post("/{entitlement_id}/consume", response=schemas.Entitlement, summary="Use it once")
def consume(request: AgentRequest, entitlement_id: str, ask: schemas.ConsumeRequest) -> HttpResponse:
    """The same ``key`` again is the same use. 409 when it is used up, over, suspended or revoked."""
    return answer(entitlements.consume(own_entitlement(request.auth, entitlement_id), ask.key).summary())
