"""/v1/elicitations/{id}/draft: the shared draft of a form."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows import elicitations
from elicit_flows.api import schemas
from elicit_flows.api.owned_rows import own_elicitation
from elicit_flows.api.responses import AgentRequest, answer

Whole = Annotated[int, Query(), Field(ge=0)]
router = Router(tags=["drafts"])


@router.get("/{elicitation_id}/draft", response=schemas.Draft, summary="Get the answers so far")
def get(request: AgentRequest, elicitation_id: str, after_seq: Whole = 0) -> HttpResponse:
    """The answers that changed after ``after_seq``. 409 ``draft_not_shared`` unless the form was created with
    ``shared``: without it, nobody sees what the user writes before they submit it. To wait for the next change, wait
    for the elicitation's ``seq``, or read ``elicitation.draft`` events.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    return answer(elicitations.read_draft(row, after_seq))


@router.put("/{elicitation_id}/draft/{path:question}", response=schemas.Draft, summary="Answer one question")
def put(request: AgentRequest, elicitation_id: str, question: str, share: schemas.ShareAnswer) -> HttpResponse:
    """Everybody who has the form open sees the answer at once. 409 ``draft_changed`` if the answer changed after the
    ``seq`` that you send.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    given = share.answer.model_dump(exclude_unset=True) if share.answer else None
    elicitations.put_draft_answer(row, question, given, share.seq)
    return answer(elicitations.read_draft(own_elicitation(request.auth.pk, elicitation_id)))
