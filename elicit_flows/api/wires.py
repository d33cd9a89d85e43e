"""Ready-made messages, for agents that speak a protocol without our SDK."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpResponse
from ninja import Router

from elicit_flows import flow
from elicit_flows.api.answers import AgentRequest, answer
from elicit_flows.api.find import own_elicitation
from elicit_flows.errors import NotFound
from elicit_flows.wires import MESSAGES

router = Router(tags=["wire"])


@router.get("/{elicitation_id}/wire/{protocol}", response=dict[str, Any], summary="The ready-made message")
def message(
    request: AgentRequest, elicitation_id: str, protocol: str, mode: Literal["url", "form"] = "url"
) -> HttpResponse:
    """What your agent has to send to its client about it now. ``protocol`` is one of these:

    ``mcp-2025-11-25`` and ``acp``: ``{method, params}`` of the request, and once it is over of the notification that
    it is; add ``jsonrpc`` and ``id``, and for ``acp`` the scope: ``sessionId`` or ``requestId``. ``mcp-2026-07-28``:
    the ``InputRequiredResult``; add your ``requestState``. ``ahp``: the action to dispatch on the chat's channel.
    ``tesseron``: ``{method, params}``; add ``invocationId``.

    With ``mode`` "form" the questions of a form that has a schema are asked by the client itself. 409 ``already_over``
    where a protocol has nothing to say of what is over.
    """
    row = own_elicitation(request.auth.pk, elicitation_id)
    flow.expire(row)
    if protocol not in MESSAGES:
        raise NotFound(f"There is no such protocol; use one of {', '.join(MESSAGES)}.")
    return answer(MESSAGES[protocol](row.snapshot(), mode == "form"))
