"""/v1/subscriptions: what people subscribed to, and its renewals."""

from __future__ import annotations

from typing import Literal

from django.http import HttpResponse
from ninja import Query, Router

from elicit_flows import elicitations
from elicit_flows.api import schemas, subscription_shapes
from elicit_flows.api.owned_rows import own_subscription
from elicit_flows.api.responses import AgentRequest, answer, listed
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Renewal, Subscription
from elicit_flows.payments import queries

router = Router(tags=["subscriptions"])


class Filter(schemas.OfUser, schemas.Paging):
    status: Literal["active", "past_due", "ended"] | None = None


@router.get("", response=subscription_shapes.SubscriptionList, summary="List subscriptions, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    """Those whose first period was paid, ended ones too."""
    wanted = {"iss": query.iss, "sub": query.sub, "status": query.status}
    rows = queries.subscriptions_of(request.auth)
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    return listed(request, query, rows, Subscription.summary)


@router.get("/{subscription_id}", response=subscription_shapes.Subscription, summary="Get a subscription")
def get(request: AgentRequest, subscription_id: str) -> HttpResponse:
    """As your operator's provider last said. It is asked every day, and whenever it sends a webhook."""
    return answer(own_subscription(request.auth, subscription_id).summary())


@router.post("/{subscription_id}/cancel", response=subscription_shapes.Subscription, summary="Cancel a subscription")
@asks_outside
def cancel(
    request: AgentRequest, subscription_id: str, ask: subscription_shapes.CancelRequest | None = None
) -> HttpResponse:
    """Nothing more is charged. It ends with the paid period, or now. If the provider does not answer, it is told until
    it does: ``ends_at`` or the status says when it has confirmed. Cancelling it again is harmless.

    There is no call that takes it back: only the user can, at ``/account/payments``.
    """
    row = own_subscription(request.auth, subscription_id)
    elicitations.cancel_subscription(row, at_once=ask is not None and ask.at == "now")
    return answer(own_subscription(request.auth, subscription_id).summary())


@router.get(
    "/{subscription_id}/renewals", response=subscription_shapes.RenewalList, summary="List its renewals, newest first"
)
def renewals(request: AgentRequest, subscription_id: str, query: Query[schemas.Paging]) -> HttpResponse:
    """The first period is no renewal: it is the subscription's ``payment``."""
    rows = queries.renewals_of(own_subscription(request.auth, subscription_id))
    return listed(request, query, rows, Renewal.summary)
