"""MCP, revision 2025-11-25: requests that the server pushes (client/elicitation; schema.ts, ``ElicitRequest``).

The caller adds ``jsonrpc`` and, to a request, ``id``. The elicitation's id is the ``elicitationId``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elicit_flows.values import Json
from elicit_flows.wires import reply as replies
from elicit_flows.wires.asked import by_link, is_over, open_only
from elicit_flows.wires.forms import by_form
from elicit_flows.wires.reply import Reply

REQUIRED = -32042  # URLElicitationRequiredError


def message(body: Json, form: bool = False) -> Json:
    """What there is to send now: ``elicitation/create``, and once it is over the notification that it is.

    With ``form`` in form mode, which has no notification. Raises Invalid, AlreadyOver.
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
    """``notifications/elicitation/complete``, to the session that got the request and to no other.

    It tells that the user is through, not how it went.
    """
    return {"method": "notifications/elicitation/complete", "params": {"elicitationId": body["id"]}}


def required(bodies: Iterable[Json], text: str = "The user has something to do first.") -> Json:
    """The member ``error`` of an answer that asks by refusal; the client retries the same call afterwards.

    ``bodies``: everything that is needed before a retry can succeed, in full; each has to be open. Raises AlreadyOver.
    """
    asked = list(bodies)
    for body in asked:
        open_only(body)
    return {"code": REQUIRED, "message": text, "data": {"elicitations": [params(body) for body in asked]}}


def reply(result: Any) -> Reply:
    """The reply in an ``ElicitResult``. Raises Invalid."""
    return replies.read(result)
