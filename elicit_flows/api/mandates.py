"""/v1/mandates: what people allowed agents to charge later, and charging it."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from django.http import HttpResponse
from ninja import Query, Router

from elicit_flows import elicitations
from elicit_flows.api import mandate_shapes, openapi, parsing, schemas
from elicit_flows.api.elicitations import MAX_METADATA
from elicit_flows.api.owned_rows import own_mandate
from elicit_flows.api.responses import AgentRequest, answer, dumps, listed
from elicit_flows.domain.errors import Invalid, NotFound
from elicit_flows.domain.values import Json
from elicit_flows.kinds import get as kind
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Mandate, MandateCharge
from elicit_flows.payments import mandates, queries

router = Router(tags=["mandates"])


class Filter(schemas.OfUser, schemas.Paging):
    status: Literal["active", "ended"] | None = None


@router.get("", response=mandate_shapes.MandateList, summary="List mandates, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    """Those that a person has agreed to, ended ones too."""
    wanted = {"iss": query.iss, "sub": query.sub, "status": query.status}
    rows = queries.mandates_of(request.auth)
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    return listed(request, query, rows, Mandate.summary)


@router.get("/{mandate_id}", response=mandate_shapes.MandateInUse, summary="Get a mandate, and what is used of it")
def get(request: AgentRequest, mandate_id: str) -> HttpResponse:
    """``used`` counts what is charged or reserved; a refund gives no room back."""
    return answer(_in_use(own_mandate(request.auth, mandate_id)))


@router.post("/{mandate_id}/end", response=mandate_shapes.MandateInUse, summary="End a mandate")
@asks_outside
def end(request: AgentRequest, mandate_id: str) -> HttpResponse:
    """Nothing more can be charged, and the saved method is removed at the provider. Ending it again is harmless."""
    elicitations.end_mandate(own_mandate(request.auth, mandate_id), Mandate.By.AGENT)
    return answer(_in_use(own_mandate(request.auth, mandate_id)))


@router.get("/{mandate_id}/document", response=mandate_shapes.MandateDocument, summary="Get the signed mandate")
def document(request: AgentRequest, mandate_id: str) -> HttpResponse:
    """A JWS (RFC 7515) of type ``mandate+jwt`` with the mandate's current state. A third party can verify it with the
    keys at ``/.well-known/jwks.json``. Its ``constraints`` have the names of AP2's open payment mandate.
    """
    row = own_mandate(request.auth, mandate_id)
    return answer({"object": "mandate_document", "mandate": row.pk, "document": elicitations.mandate_document(row)})


@router.get("/{mandate_id}/charges", response=mandate_shapes.ChargeList, summary="List its charges, newest first")
def list_charges(request: AgentRequest, mandate_id: str, query: Query[schemas.Paging]) -> HttpResponse:
    return listed(request, query, queries.charges_of(own_mandate(request.auth, mandate_id)), _shown)


@router.get("/{mandate_id}/charges/{charge_id}", response=mandate_shapes.Charge, summary="Get a charge")
def get_charge(request: AgentRequest, mandate_id: str, charge_id: str) -> HttpResponse:
    row = queries.charges_of(own_mandate(request.auth, mandate_id)).filter(pk=charge_id).first()
    if row is None:
        raise NotFound("There is no charge with this id.")
    return answer(_shown(row))


@router.post(
    "/{mandate_id}/charges",
    response={201: mandate_shapes.Charge, 200: mandate_shapes.Charge},
    summary="Charge under a mandate",
    openapi_extra=openapi.IDEMPOTENT,
)
@asks_outside
def charge(request: AgentRequest, mandate_id: str, ask: mandate_shapes.ChargeRequest) -> HttpResponse:
    """The amount is reserved against every limit, and then charged at the provider. ``status`` says what became of it:
    paid, failed (``failure`` says why), processing (an event follows), announced (it is charged at ``charge_at``, if
    the person does not refuse it), or requires_action: the bank wants the person, who has to open ``url``.

    ``Idempotency-Key`` (1 to 255 visible ASCII characters) is needed: a retry with the same key never charges twice.
    403 ``over_limit`` beyond a limit of the mandate or of your operator; 409 when the mandate has ended.
    """
    mandate, key = own_mandate(request.auth, mandate_id), parsing.idempotency_key(request.headers)
    if key is None:
        raise Invalid.at("Idempotency-Key", "Send this header with a key of your own, so that a retry charges once.")
    if len(dumps(ask.metadata)) > MAX_METADATA:
        raise Invalid.at("metadata", f"Give at most {MAX_METADATA} bytes of JSON.")
    given = ask.model_dump(exclude={"metadata"})
    try:
        clean = kind("payment").clean({**given, "currency": mandate.currency})  # the rules of every payment
    except Invalid as wrong:
        raise Invalid([{**one, "loc": list(one["loc"])[1:]} for one in wrong.errors]) from None  # type: ignore[call-overload]
    asked = {name: clean[name] for name in given} | {"metadata": ask.metadata}
    # Without defaults, so that a member that a later version adds does not make a retry another request.
    body = json.dumps(ask.model_dump(exclude_defaults=True), sort_keys=True)
    fingerprint = hashlib.sha256(body.encode()).hexdigest()
    row, known = elicitations.charge_mandate(request.auth, mandate, asked, key, fingerprint)
    return answer(_shown(row), Idempotency_Replayed="true") if known else answer(_shown(row), status=201)


def _in_use(row: Mandate) -> Json:
    return row.summary() | {"used": mandates.used(row)}


def _shown(row: MandateCharge) -> Json:
    """With the link that the person has to open, while it waits for them."""
    waits = row.status == "requires_action" and row.payment.elicitation is not None
    return row.summary() | {"url": row.payment.elicitation.url if waits and row.payment.elicitation else None}
