"""The agent's own note on an elicitation."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Router

from elicit_flows import flow
from elicit_flows.api import schemas
from elicit_flows.api.answers import AgentRequest, answer
from elicit_flows.api.find import own_elicitation

router = Router(tags=["notes"])


@router.get("/{elicitation_id}/note", response=schemas.Note, summary="What you noted on it")
def get(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    """Nobody sees it but you: not the user, no event, no page. It is deleted a day after the elicitation has ended."""
    row = own_elicitation(request.auth.pk, elicitation_id)
    return answer(_said(row.pk, flow.note(row)))


@router.patch("/{elicitation_id}/note", response=schemas.Note, summary="Note something on it")
def change(request: AgentRequest, elicitation_id: str, change: schemas.ChangeNote) -> HttpResponse:
    """Members are texts, kept sealed; null takes one out, and those that you do not name stay (RFC 7396). It changes
    nothing else: no ``seq``, no event. 128 KiB in all, and 64 KiB in one call.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    return answer(_said(row.pk, flow.add_to_note(row, change.note)))


def _said(elicitation: str, note: dict[str, str]) -> dict[str, object]:
    return {"object": "note", "elicitation": elicitation, "note": note}
