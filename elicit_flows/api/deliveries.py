"""/v1/deliveries: webhook deliveries and their replay."""

from __future__ import annotations

from typing import Literal

from django.http import HttpResponse
from ninja import Query, Router

from elicit_flows.api import event_shapes, schemas
from elicit_flows.api.owned_rows import own_delivery
from elicit_flows.api.responses import AgentRequest, answer, listed
from elicit_flows.domain.errors import Conflict
from elicit_flows.domain.values import Json
from elicit_flows.events import webhooks
from elicit_flows.lib import clock
from elicit_flows.models import Delivery

router = Router(tags=["webhooks"])


class Filter(schemas.Paging):
    status: Literal["pending", "delivered", "failed"] | None = None


@router.get("/deliveries", response=event_shapes.DeliveryList, summary="List deliveries, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    rows = Delivery.objects.filter(agent=request.auth).select_related("event")
    if query.status:
        rows = rows.filter(status=query.status)
    return listed(request, query, rows, _body)


@router.post("/deliveries/{delivery_id}/replay", response=event_shapes.Delivery, summary="Send it again")
def replay(request: AgentRequest, delivery_id: str) -> HttpResponse:
    """Starts the retry schedule again, with the same event id. Also re-enables an endpoint that answered 410 Gone."""
    row = own_delivery(request.auth, delivery_id)
    if not request.auth.webhook_url:
        raise Conflict("This agent no longer has a webhook URL.")
    webhooks.replay(row)
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
