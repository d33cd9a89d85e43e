"""Asking, looking, taking back."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows import flow
from elicit_flows.api import idempotency, openapi, schemas
from elicit_flows.api.answers import AgentRequest, answer, page
from elicit_flows.api.find import own_elicitation
from elicit_flows.errors import Invalid
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation
from elicit_flows.states import OPEN, Status
from elicit_flows.values import Claim, Question

Whole = Annotated[int, Query(), Field(ge=0)]
router = Router(tags=["elicitations"])
MAX_METADATA = 8 * 1024


class Filter(schemas.Strict):
    status: Status | None = Field(None, strict=False)
    iss: str | None = None
    sub: str | None = None
    kind: str | None = None
    limit: int = Field(20, ge=1, le=100, strict=False)
    cursor: str = ""


@router.post(
    "",
    response={201: schemas.Elicitation, 200: schemas.Elicitation},
    summary="Ask a user",
    openapi_extra=openapi.IDEMPOTENT,
)
def create(request: AgentRequest, ask: schemas.CreateElicitation) -> HttpResponse:
    """Makes a link for one person. With ``reuse: if_valid`` an existing connection or entitlement may answer at once.

    Send ``Idempotency-Key`` (1 to 255 visible ASCII characters) so that a retry asks once.
    """
    row, replayed = flow.create(request.auth, _question(ask, idempotency.key_of(request)))
    if replayed:
        flow.expire(row)
        return answer(row.snapshot(), Idempotency_Replayed="true")
    return answer(row.snapshot(), status=201, Location=f"/v1/elicitations/{row.pk}")


@router.get("", response=schemas.ElicitationList, summary="List elicitations, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    rows = Elicitation.objects.filter(agent=request.auth, parent=None).select_related("agent").defer("note")
    for name in ("status", "iss", "sub", "kind"):
        if getattr(query, name) is not None:
            rows = rows.filter(**{name: getattr(query, name)})
    if query.status in OPEN and query.status is not Status.SETTLING:
        rows = rows.filter(expires_at__gt=clock.now())
    found, following = page(rows, request.auth, query.cursor, query.limit)
    for row in found:
        flow.expire(row)
    return answer({"data": [row.snapshot() for row in found], "next_cursor": following})


@router.get("/{elicitation_id}", response=schemas.Elicitation, summary="Get one, at once or when it changes")
def get(request: AgentRequest, elicitation_id: str, wait: Whole = 0, after_seq: Whole | None = None) -> HttpResponse:
    """With ``wait`` (seconds) the answer comes as soon as ``seq`` is over ``after_seq`` (default: the ``seq`` at the
    time of the call) or the status is terminal, else unchanged when the time is up.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    return answer(row.snapshot())


@router.post("/{elicitation_id}/cancel", response=schemas.Elicitation, summary="Take the question back")
def cancel(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    return answer(flow.cancel(row).snapshot())


@router.post("/{elicitation_id}/complete", response=schemas.Elicitation, summary="Say that it was done elsewhere")
def complete(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    """For kind ``link`` with ``completion`` "by_agent", and for kind ``form``: its draft is sent as your viewers
    submitted it, 409 ``not_submitted`` while a required question is not. 409 for any other, and when it is over.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    return answer(flow.complete(row).snapshot())


@router.post(
    "/{elicitation_id}/consume",
    response=schemas.Elicitation,
    summary="Act on what it came to, once",
    openapi_extra=openapi.IDEMPOTENT,
)
def consume(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    """Call it before you act on what is over, however it ended, and act only when it answers 200: one call does.
    409 ``not_over`` before, ``already_consumed`` after. From then on a create under its ``Idempotency-Key`` asks anew.

    Send ``Idempotency-Key`` (1 to 255 visible ASCII characters) so that a retry of this very call answers 200 again.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    row, replayed = flow.consume(row, idempotency.key_of(request))
    return answer(row.snapshot(), Idempotency_Replayed="true") if replayed else answer(row.snapshot())


@router.patch("/{elicitation_id}", response=schemas.Elicitation, summary="Ask the same form in other words")
def ask_again(request: AgentRequest, elicitation_id: str, change: schemas.AskAgain) -> HttpResponse:
    """Changes the message or the questions of an open form. What was answered stays where it still fits."""
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    return answer(flow.ask_again(row, change.message, change.params).snapshot())


def _question(ask: schemas.CreateElicitation, key: str | None) -> Question:
    if len(json.dumps(ask.metadata)) > MAX_METADATA:
        raise Invalid.at("metadata", f"This may have {MAX_METADATA} bytes as JSON.")
    body = json.dumps(ask.model_dump(), sort_keys=True, separators=(",", ":"))
    return Question(
        kind=ask.kind,
        claim=Claim(ask.subject.iss, ask.subject.sub),
        message=ask.message,
        params=ask.params,
        expires_in=ask.expires_in,
        return_url=ask.return_url,
        reuse=ask.reuse,
        metadata=ask.metadata,
        idempotency_key=key,
        fingerprint=hashlib.sha256(body.encode()).hexdigest(),
    )
