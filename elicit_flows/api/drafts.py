"""The shared draft of a form, for viewers of the agent's own."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows import flow
from elicit_flows.api import schemas
from elicit_flows.api.answers import AgentRequest, answer
from elicit_flows.api.find import own_elicitation

Whole = Annotated[int, Query(), Field(ge=0)]
router = Router(tags=["drafts"])


@router.get("/{elicitation_id}/draft", response=schemas.Draft, summary="What is answered so far")
def get(request: AgentRequest, elicitation_id: str, after_seq: Whole = 0) -> HttpResponse:
    """The answers that were changed after ``after_seq``. To hear of the next change, wait for the elicitation's
    ``seq`` or read ``elicitation.draft`` events.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    return answer(flow.draft(row, after_seq))


@router.put("/{elicitation_id}/draft/{path:question}", response=schemas.Draft, summary="Answer one question")
def put(request: AgentRequest, elicitation_id: str, question: str, share: schemas.ShareAnswer) -> HttpResponse:
    """Seen at once by everybody who has the form open. 409 ``draft_changed`` when the answer was changed after the
    ``seq`` that you say you have seen.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    given = share.answer.model_dump(exclude_unset=True) if share.answer else None
    flow.put(row, question, given, share.seq)
    return answer(flow.draft(own_elicitation(request.auth.pk, elicitation_id)))
