"""What users paid, and giving it back."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows import flow
from elicit_flows.api import idempotency, openapi, schemas
from elicit_flows.api.answers import AgentRequest, answer, page
from elicit_flows.api.find import own_payment
from elicit_flows.ledger import reading, refunds
from elicit_flows.models import Refund

router = Router(tags=["payments"])


class Filter(schemas.Strict):
    limit: int = Field(20, ge=1, le=100, strict=False)
    cursor: str = ""


@router.get("/{payment_id}", response=schemas.Payment, summary="Get a payment")
def get(request: AgentRequest, payment_id: str) -> HttpResponse:
    return answer(own_payment(request.auth, payment_id).summary())


@router.get("/{payment_id}/receipt", response=schemas.Receipt, summary="Get its signed receipt")
def receipt(request: AgentRequest, payment_id: str) -> HttpResponse:
    """A JWS (RFC 7515) that says how the payment stands now; its keys are at ``/.well-known/jwks.json``.

    It says that we saw it paid, and nothing of what was delivered. 409 while nothing is paid.
    """
    row = own_payment(request.auth, payment_id)
    return answer({"object": "receipt", "payment": row.pk, "receipt": flow.receipt(row)})


@router.get("/{payment_id}/refunds", response=schemas.RefundList, summary="List its refunds, newest first")
def list_refunds(request: AgentRequest, payment_id: str, query: Query[Filter]) -> HttpResponse:
    rows = reading.refunds_of(own_payment(request.auth, payment_id))
    found, following = page(rows, request.auth, query.cursor, query.limit)
    return answer({"data": [row.summary() for row in found], "next_cursor": following})


@router.post(
    "/{payment_id}/refunds",
    response={201: schemas.Refund, 200: schemas.Refund},
    summary="Give money back",
    openapi_extra=openapi.IDEMPOTENT,
)
def refund(request: AgentRequest, payment_id: str, ask: schemas.RefundRequest | None = None) -> HttpResponse:
    """``amount`` in minor units, or all that is left. The provider is told until it hears; how it ends comes as
    ``payment.refunded`` or ``payment.refund_failed``. 409 when nothing is left.

    Send ``Idempotency-Key`` (1 to 255 visible ASCII characters) so that a retry gives back once.
    """
    row, key = own_payment(request.auth, payment_id), idempotency.key_of(request)
    amount, reason = (ask.amount, ask.reason or "") if ask else (None, "")
    replayed = key is not None and reading.refunds_of(row).filter(idempotency_key=key).exists()
    made = refunds.ask(row, amount, Refund.By.AGENT, reason, key)
    if replayed:
        return answer(made.summary(), Idempotency_Replayed="true")
    return answer(made.summary(), status=201)
