"""/v1/elicitations: create, list, read, change, cancel, complete and consume."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from django.db.models import Q
from django.http import HttpResponse
from ninja import Body, Query, Router
from pydantic import Field

from elicit_flows import elicitations
from elicit_flows.api import elicitation_shapes, openapi, parsing, schemas
from elicit_flows.api.owned_rows import own_elicitation
from elicit_flows.api.responses import AgentRequest, answer, dumps, listed
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.status import OPEN, Status
from elicit_flows.domain.values import Claim, Json, Question
from elicit_flows.lib import clock
from elicit_flows.lib.thread_pools import asks_outside_for_some
from elicit_flows.models import Elicitation
from elicit_flows.payments import checkouts

Whole = Annotated[int, Query(), Field(ge=0)]
router = Router(tags=["elicitations"], by_alias=True)
MAX_METADATA = 8 * 1024


class Filter(schemas.OfUser, schemas.Paging):
    status: Status | None = Field(None, strict=False)
    kind: schemas.Kind | None = None


def question_of(ask: schemas.CreateElicitation, idempotency_key: str | None) -> Question:
    """What a create asks. Raises Invalid."""
    if len(dumps(ask.metadata)) > MAX_METADATA:
        raise Invalid.at("metadata", f"Give at most {MAX_METADATA} bytes of JSON.")
    # Without defaults, so that a member that a later version adds does not make a retry another request.
    body = json.dumps(ask.model_dump(exclude_defaults=True), sort_keys=True, separators=(",", ":"))
    return Question(
        kind=ask.kind,
        claim=Claim(ask.subject.iss, ask.subject.sub),
        message=ask.message,
        params=ask.params,
        expires_in=ask.expires_in,
        return_url=ask.return_url,
        return_mode=ask.return_,
        locale=ask.locale,
        reuse=ask.reuse,
        notify=ask.notify,
        metadata=ask.metadata,
        idempotency_key=idempotency_key,
        fingerprint=hashlib.sha256(body.encode()).hexdigest(),
    )


@router.post(
    "",
    response={201: elicitation_shapes.Elicitation, 200: elicitation_shapes.Elicitation},
    summary="Ask a user",
    openapi_extra=openapi.IDEMPOTENT,
)
@asks_outside_for_some
def create(request: AgentRequest, ask: schemas.CreateElicitation) -> HttpResponse:
    """Creates a link for one person. With ``reuse: if_valid`` an existing connection or entitlement may answer at once.
    Send ``Idempotency-Key`` (1 to 255 visible ASCII characters) so that a retry does not ask twice.
    """
    row, replayed = elicitations.create(request.auth, question_of(ask, parsing.idempotency_key(request.headers)))
    if replayed:
        elicitations.expire(row)
        return answer(row.snapshot(), Idempotency_Replayed="true")
    elicitations.connect_at_once(row)
    return answer(row.snapshot(), status=201, Location=f"/v1/elicitations/{row.pk}")


@router.get("", response=elicitation_shapes.ElicitationList, summary="List elicitations, newest first")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    rows = Elicitation.objects.filter(agent=request.auth, parent=None).select_related("agent").defer("note")
    for name in ("status", "iss", "sub", "kind"):
        if getattr(query, name) is not None:
            rows = rows.filter(**{name: getattr(query, name)})
    if query.status in OPEN and query.status is not Status.SETTLING:
        rows = rows.filter(Q(expires_at__gt=clock.now()) | checkouts.awaited_for_any())
    return listed(request, query, rows, _stands)


@router.get("/{elicitation_id}", response=elicitation_shapes.Elicitation, summary="Get one, at once or when it changes")
def get(request: AgentRequest, elicitation_id: str, wait: Whole = 0, after_seq: Whole | None = None) -> HttpResponse:
    """With ``wait`` (seconds), answers as soon as ``seq`` is above ``after_seq`` (default: the ``seq`` at the time of
    the call) or the status is terminal; unchanged when the time is up.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    return answer(row.snapshot())


@router.post("/{elicitation_id}/cancel", response=elicitation_shapes.Elicitation, summary="Cancel the question")
def cancel(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    return answer(elicitations.cancel(row).snapshot())


@router.post(
    "/{elicitation_id}/complete", response=elicitation_shapes.Elicitation, summary="Complete it from your side"
)
def complete(
    request: AgentRequest, elicitation_id: str, said: Annotated[schemas.Complete | None, Body()] = None
) -> HttpResponse:
    """For kind ``link`` with ``completion`` "by_agent", and for kind ``form``: submits ``answers``, together with what
    was submitted to its shared draft; 409 ``not_submitted`` while a required question has no answer. 409 for other
    kinds, and when it is over.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    given = said.model_dump(exclude_unset=True).get("answers") if said else None
    return answer(elicitations.complete(row, given or {}).snapshot())


@router.post(
    "/{elicitation_id}/consume",
    response=elicitation_shapes.Elicitation,
    summary="Claim the result, once",
    openapi_extra=openapi.IDEMPOTENT,
)
def consume(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    """Call it before you act on a result, whatever it is. Exactly one call gets 200; act only if yours did. 409
    ``not_over`` before the end, ``already_consumed`` for all other calls. Afterwards, a create under the same
    ``Idempotency-Key`` asks anew.

    Send ``Idempotency-Key`` (1 to 255 visible ASCII characters) so that a retry of this call gets 200 again.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    row, replayed = elicitations.consume(row, parsing.idempotency_key(request.headers))
    return answer(row.snapshot(), Idempotency_Replayed="true") if replayed else answer(row.snapshot())


@router.patch("/{elicitation_id}", response=elicitation_shapes.Elicitation, summary="Change an open form")
def ask_again(request: AgentRequest, elicitation_id: str, change: schemas.AskAgain) -> HttpResponse:
    """Changes the message or the questions of an open form. Answers that still fit are kept."""
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    return answer(elicitations.ask_again(row, change.message, change.params).snapshot())


def _stands(row: Elicitation) -> Json:
    elicitations.expire(row)
    return row.snapshot()
