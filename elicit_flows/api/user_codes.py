"""POST /v1/elicitations/{id}/code: the link as a short code that can be typed."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from ninja import Router

from elicit_flows import elicitations
from elicit_flows.api import schemas
from elicit_flows.api.owned_rows import own_elicitation
from elicit_flows.api.responses import AgentRequest, answer
from elicit_flows.lib import clock

router = Router(tags=["elicitations"])


@router.post("/{elicitation_id}/code", response=schemas.UserCode, summary="Get a code to type in place of the link")
def create(request: AgentRequest, elicitation_id: str) -> HttpResponse:
    """For a user who has no browser where they talk to you: show them `verification_uri` and `user_code`, which they
    type on another device (RFC 8628, section 3.3). The code only stands for the link: the person who types it must be
    that user. The code stays the same while the elicitation is open; 409 `already_over` after that.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    said = {
        "object": "user_code",
        "elicitation": row.pk,
        "user_code": elicitations.create_user_code(row),
        "verification_uri": f"{settings.ELICIT_PUBLIC_URL}/device",
        "verification_uri_complete": row.url,
        "expires_at": clock.rfc3339(row.expires_at),
    }
    return answer(said)
