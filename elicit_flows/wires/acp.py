"""ACP, schema v1 since 2026-07-24: ``elicitation/create`` and ``elicitation/complete`` (CreateElicitationRequest).

The caller adds ``jsonrpc``, a request's ``id``, and the scope, which only the connection knows.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.wires import reply as replies
from elicit_flows.wires.asked import by_link, is_over, open_only
from elicit_flows.wires.forms import by_form, titled
from elicit_flows.wires.reply import Reply


def message(body: Json, form: bool = False) -> Json:
    """The next message: ``elicitation/create`` without its scope, or, once it is over, the notification.

    ``form``: in form mode, which has no notification. Raises Invalid and AlreadyOver.
    """
    if form:
        open_only(body)
        return {"method": "elicitation/create", "params": form_params(body)}
    return completion(body) if is_over(body) else request(body)


def request(body: Json, scope: Json | None = None) -> Json:
    """``elicitation/create`` in URL mode, for a client that advertised ``elicitation.url``."""
    return {"method": "elicitation/create", "params": params(body) | (scope or {})}


def params(body: Json) -> Json:
    """ElicitationUrlMode without its scope."""
    return {**by_link(body), "elicitationId": body["id"]}


def form_params(body: Json) -> Json:
    """ElicitationFormMode without its scope. Raises Invalid."""
    asked = by_form(body)
    return {**asked, "requestedSchema": titled(asked["requestedSchema"])}


def in_session(session: str, tool_call: str | None = None) -> Json:
    """The scope of a session, or of one tool call in it."""
    return {"sessionId": session} | ({} if tool_call is None else {"toolCallId": tool_call})


def in_request(request_id: str | int) -> Json:
    """The scope of a request outside of a session, such as ``authenticate``."""
    return {"requestId": request_id}


def completion(body: Json) -> Json:
    """``elicitation/complete``. Send it only to the connection that got the request."""
    return {"method": "elicitation/complete", "params": {"elicitationId": body["id"]}}


def reply(result: Any) -> Reply:
    """The reply in a CreateElicitationResponse. An action that ACP may add later is returned as it is. Raises
    Invalid.
    """
    return replies.read(result, strict=False)
