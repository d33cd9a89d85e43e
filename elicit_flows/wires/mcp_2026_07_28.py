"""MCP, revision 2026-07-28: the call is answered with a request for input, and repeated (basic/patterns/mrtr;
schema.ts, ``InputRequiredResult``).

This revision has no ``elicitationId``, no notification of the end, and no -32042.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires import reply as replies
from elicit_flows.wires.asked import by_link, open_only
from elicit_flows.wires.forms import by_form
from elicit_flows.wires.reply import Reply

VERSION = "2026-07-28"
RESULT_TYPE = "input_required"
MISSING_CAPABILITY = -32021  # with HTTP 400


def message(body: Json, form: bool = False) -> Json:
    """An ``InputRequiredResult`` that asks for this elicitation only, under its id.

    The caller adds ``requestState``, encrypted and bound to the user and the call ("Server Requirements" there). Once
    the elicitation is over, the call's own result follows, so there is no message. Raises Invalid and AlreadyOver.
    """
    return {"resultType": RESULT_TYPE, "inputRequests": {body["id"]: input_request(body, form)}}


def input_request(body: Json, form: bool = False) -> Json:
    """One value of ``inputRequests``: a request without ``jsonrpc`` and ``id``. Raises Invalid and AlreadyOver."""
    open_only(body)
    return {"method": "elicitation/create", "params": by_form(body) if form else by_link(body)}


def waiting(request_state: str) -> Json:
    """An ``InputRequiredResult`` without a question: the user has the link already, and the client should
    call again.
    """
    return {"resultType": RESULT_TYPE, "requestState": request_state}


def missing_capability(mode: str = "url") -> Json:
    """The member ``error`` for a client that did not declare the mode: ``url`` or ``form``."""
    needed: Json = {"elicitation": {mode: {}}}
    return {
        "code": MISSING_CAPABILITY,
        "message": f"This needs a client that can do elicitation in {mode} mode.",
        "data": {"requiredCapabilities": needed},
    }


def reply(responses: Any, key: str) -> Reply | None:
    """The reply under ``key`` in a retry's ``inputResponses``; None if it is missing, and then ask again.

    ``responses`` is None if the retry has none. Other keys are ignored. Raises Invalid for malformed replies.
    """
    if responses is None:
        return None
    if not isinstance(responses, dict):
        raise Invalid.at("inputResponses", "Give an object with one answer for each key that was asked.")
    return replies.read(responses[key]) if key in responses else None
