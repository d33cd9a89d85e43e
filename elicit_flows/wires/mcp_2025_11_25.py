"""MCP, revision 2025-11-25: requests that the server sends to the client (client/elicitation; schema.ts,
``ElicitRequest``).

The caller adds ``jsonrpc`` and a request's ``id``. The elicitation's id is the ``elicitationId``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.wires import reply as replies
from elicit_flows.wires.asked import by_link, is_over, open_only
from elicit_flows.wires.forms import by_form
from elicit_flows.wires.reply import Reply

REQUIRED = -32042  # URLElicitationRequiredError


def message(body: Json, form: bool = False) -> Json:
    """The next message: ``elicitation/create``, or, once it is over, the notification.

    ``form``: in form mode, which has no notification. Raises Invalid and AlreadyOver.
    """
    if form:
        open_only(body)
        return {"method": "elicitation/create", "params": by_form(body)}
    return completion(body) if is_over(body) else request(body)


def request(body: Json) -> Json:
    """``elicitation/create`` in URL mode, for a client that declared ``elicitation.url`` at ``initialize``."""
    return {"method": "elicitation/create", "params": params(body)}


def params(body: Json) -> Json:
    """``ElicitRequestURLParams``: all four members are required."""
    return {**by_link(body), "elicitationId": body["id"]}


def completion(body: Json) -> Json:
    """``notifications/elicitation/complete``. Send it only to the session that got the request.

    It says that the user has finished, not what the outcome is.
    """
    return {"method": "notifications/elicitation/complete", "params": {"elicitationId": body["id"]}}


def required(bodies: Iterable[Json], text: str = "The user has something to do first.") -> Json:
    """The member ``error`` of a refusal that asks for elicitations; the client repeats the same call afterwards.

    ``bodies``: every elicitation that is needed before the call can succeed; all must be open. Raises AlreadyOver.
    """
    asked = list(bodies)
    for body in asked:
        open_only(body)
    return {"code": REQUIRED, "message": text, "data": {"elicitations": [params(body) for body in asked]}}


def reply(result: Any) -> Reply:
    """The reply in an ``ElicitResult``. Raises Invalid."""
    return replies.read(result)
