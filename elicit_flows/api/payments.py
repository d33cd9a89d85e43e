"""/v1/payments: payments, receipts and refunds."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows import elicitations
from elicit_flows.api import openapi, parsing, schemas
from elicit_flows.api.owned_rows import own_payment
from elicit_flows.api.responses import AgentRequest, answer, listed
from elicit_flows.models import Payment, Refund
from elicit_flows.payments import queries, refunds

router = Router(tags=["payments"])


class Filter(schemas.OfUser, schemas.Paging):
    status: schemas.PaymentStatus | None = None
    mode: schemas.PaymentMode | None = None
    elicitation: str | None = Field(None, min_length=1, description="The id of the elicitation that asked for it.")
    item: str | None = Field(None, min_length=1)


@router.get("", response=schemas.PaymentList, summary="List payments, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    """Includes payments that were requested and not made: ``status`` says how each one stands."""
    rows = queries.payments_of(request.auth).select_related("account", "elicitation__parent")
    wanted = {"iss": query.iss, "sub": query.sub, "mode": query.mode, "item": query.item}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    if query.status is not None:
        rows = rows.filter(queries.with_status(query.status))
    if query.elicitation is not None:
        rows = rows.filter(queries.asked_for_by(query.elicitation))
    return listed(request, query, rows, Payment.summary)


@router.get("/{payment_id}", response=schemas.Payment, summary="Get a payment")
def get(request: AgentRequest, payment_id: str) -> HttpResponse:
    return answer(own_payment(request.auth, payment_id).summary())


@router.get("/{payment_id}/receipt", response=schemas.Receipt, summary="Get its signed receipt")
def receipt(request: AgentRequest, payment_id: str) -> HttpResponse:
    """A JWS (RFC 7515) with the payment's current state; its keys are at ``/.well-known/jwks.json``. It confirms that
    it was paid, and says nothing about delivery. 409 while it is not paid.
    """
    row = own_payment(request.auth, payment_id)
    return answer({"object": "receipt", "payment": row.pk, "receipt": elicitations.receipt(row)})


@router.get("/{payment_id}/refunds", response=schemas.RefundList, summary="List its refunds, newest first")
def list_refunds(request: AgentRequest, payment_id: str, query: Query[schemas.Paging]) -> HttpResponse:
    return listed(request, query, queries.refunds_of(own_payment(request.auth, payment_id)), Refund.summary)


@router.post(
    "/{payment_id}/refunds",
    response={201: schemas.Refund, 200: schemas.Refund},
    summary="Refund a payment",
    openapi_extra=openapi.IDEMPOTENT,
)
def refund(request: AgentRequest, payment_id: str, ask: schemas.RefundRequest | None = None) -> HttpResponse:
    """``amount`` in minor units, or all that is left. The provider is told with retries; the event ``payment.refunded``
    or ``payment.refund_failed`` reports the end. 409 if nothing is left.

    Send ``Idempotency-Key`` (1 to 255 visible ASCII characters) so that a retry does not refund twice.
    """
    row, key = own_payment(request.auth, payment_id), parsing.idempotency_key(request.headers)
    amount, reason = (ask.amount, ask.reason or "") if ask else (None, "")
    made, known = refunds.ask(row, amount, Refund.By.AGENT, reason, key)
    return answer(made.summary(), Idempotency_Replayed="true") if known else answer(made.summary(), status=201)
