"""The ``InputRequiredResult`` of SEP-2322's drafts, with a list of ``{id, kind, description, required}``.

It has no links, so the link is part of a yes-or-no question. Both the list and ``requestState`` are required.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires.asked import open_only
from elicit_flows.wires.forms import schema_of
from elicit_flows.wires.reply import ACCEPT, DECLINE, Reply


def message(body: Json, request_state: str) -> Json:
    """The result for the link. ``request_state`` must not be empty. Raises AlreadyOver, Invalid."""
    asked = f"{body['message']} Open {body['url']} and answer yes, or no."
    return _result(body, [_input(body["id"], "boolean", asked, required=True)], request_state)


def form(body: Json, request_state: str) -> Json:
    """The result for a form's questions, each under its own id. Raises AlreadyOver, Invalid."""
    schema = schema_of(body)
    required = schema.get("required") or []
    asked = [
        _input(key, rule["type"], rule.get("description") or rule.get("title") or key, required=key in required)
        for key, rule in schema["properties"].items()
    ]
    return _result(body, asked, request_state)


def _input(name: str, kind: str, description: str, *, required: bool) -> Json:
    return {"id": name, "kind": kind, "description": description, "required": required}


def _result(body: Json, asked: list[Json], request_state: str) -> Json:
    open_only(body)
    if not asked or not request_state:
        raise Invalid.at(
            "requestState",
            "Give a question and a requestState: without them a client takes the answer for a normal result.",
        )
    return {"inputRequests": asked, "requestState": request_state, "description": body["message"]}


def reply(responses: Any, key: str) -> Reply | None:
    """The reply to the link in a retry's ``inputResponses``, ``[{id, value}]``; None if it is missing."""
    values = answers(responses)
    return Reply(ACCEPT if values[key] is True else DECLINE) if key in values else None


def content(responses: Any) -> Reply:
    """The answers to a form's questions. This version has no decline."""
    return Reply(ACCEPT, answers(responses))


def answers(responses: Any) -> Json:
    """``inputResponses`` by id. Raises Invalid for malformed replies."""
    given = [] if responses is None else responses
    if not isinstance(given, list) or not all(isinstance(one, dict) and {"id", "value"} <= set(one) for one in given):
        raise Invalid.at("inputResponses", "Give a list of {id, value}.")
    return {str(one["id"]): one["value"] for one in given}
