"""Ready-made protocol messages, for agents that do not use our SDK."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import HttpResponse
from ninja import Router
from pydantic import WithJsonSchema

from elicit_flows import elicitations
from elicit_flows.api.owned_rows import own_elicitation
from elicit_flows.api.responses import AgentRequest, answer
from elicit_flows.api.wire_shapes import WireMessage
from elicit_flows.domain.errors import NotFound
from elicit_flows.wires import MESSAGES

# Only described: another name is 404, as another address would be.
Protocol = Annotated[str, WithJsonSchema({"type": "string", "enum": list(MESSAGES)})]
router = Router(tags=["wire"])


@router.get("/{elicitation_id}/wire/{protocol}", response=WireMessage, summary="Get a ready-made protocol message")
def message(
    request: AgentRequest, elicitation_id: str, protocol: Protocol, mode: Literal["url", "form"] = "url"
) -> HttpResponse:
    """The message that your agent has to send to its client now. ``protocol`` is one of these:

    ``mcp-2025-11-25`` and ``acp``: ``{method, params}`` of the request, and once it is over of the notification; add
    ``jsonrpc`` and ``id``, and for ``acp`` the scope: ``sessionId`` or ``requestId``. ``mcp-2026-07-28``: the
    ``InputRequiredResult``; add your ``requestState``. ``ahp``: the action to dispatch on the chat's channel.
    ``tesseron``: ``{method, params}``; add ``invocationId``.

    With ``mode`` "form", the client itself asks the questions of a form that has a schema. 409 ``already_over`` if the
    protocol has no message for the end.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    elicitations.expire(row)
    if protocol not in MESSAGES:
        raise NotFound(f"There is no such protocol; use one of {', '.join(MESSAGES)}.")
    return answer(MESSAGES[protocol](row.snapshot(), mode == "form"))
