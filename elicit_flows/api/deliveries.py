"""Webhook deliveries: how they went, and sending one again."""

from __future__ import annotations

from typing import Literal

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows.api import schemas
from elicit_flows.api.answers import AgentRequest, answer, page
from elicit_flows.api.find import own_delivery
from elicit_flows.errors import Conflict
from elicit_flows.lib import clock
from elicit_flows.models import Delivery
from elicit_flows.queue import courier
from elicit_flows.values import Json

router = Router(tags=["webhooks"])


class Filter(schemas.Strict):
    status: Literal["pending", "delivered", "failed"] | None = None
    limit: int = Field(20, ge=1, le=100, strict=False)
    cursor: str = ""


@router.get("/deliveries", response=schemas.DeliveryList, summary="List deliveries, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    rows = Delivery.objects.filter(agent=request.auth).select_related("event")
    if query.status:
        rows = rows.filter(status=query.status)
    found, following = page(rows, request.auth, query.cursor, query.limit)
    return answer({"data": [_body(row) for row in found], "next_cursor": following})


@router.post("/deliveries/{delivery_id}/replay", response=schemas.Delivery, summary="Send it again")
def replay(request: AgentRequest, delivery_id: str) -> HttpResponse:
    """Begins the schedule anew, under the same event id. Also takes an endpoint back that answered 410 Gone."""
    row = own_delivery(request.auth, delivery_id)
    if not request.auth.webhook_url:
        raise Conflict("This agent has no webhook URL any more.")
    courier.replay(row)
    return answer(_body(row))


def _body(row: Delivery) -> Json:
    return {
        "id": row.pk,
        "object": "delivery",
        "event": row.event_id,
        "type": row.event.type,
        "status": row.status,
        "tries": row.tries,
        "log": row.log,
        "created_at": clock.rfc3339(row.created_at),
        "next_at": clock.rfc3339(row.next_at) if row.status == "pending" else None,
        "delivered_at": clock.rfc3339(row.delivered_at),
    }
