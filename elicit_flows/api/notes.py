"""/v1/elicitations/{id}/note: the agent's own note on an elicitation."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Router

from elicit_flows import elicitations
from elicit_flows.api import schemas
from elicit_flows.api.owned_rows import own_elicitation
from elicit_flows.api.responses import AgentRequest, answer

router = Router(tags=["notes"])


@router.get("/{elicitation_id}/note", response=schemas.Note, summary="Get your note")
def get(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    """Only you can read it; it is in no event and on no page. It is deleted a day after the elicitation has ended."""
    row = own_elicitation(request.auth.pk, elicitation_id)
    return answer(_said(row.pk, elicitations.read_note(row)))


@router.patch("/{elicitation_id}/note", response=schemas.Note, summary="Change your note")
def change(request: AgentRequest, elicitation_id: str, change: schemas.ChangeNote) -> HttpResponse:
    """Members are texts and are stored encrypted. Null removes a member, and members that you do not name stay (RFC
    7396). Nothing else changes: no ``seq``, no event. At most 128 KiB in all, and 64 KiB in one call.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    return answer(_said(row.pk, elicitations.change_note(row, change.note)))


def _said(elicitation: str, note: dict[str, str]) -> dict[str, object]:
    return {"object": "note", "elicitation": elicitation, "note": note}
