"""What every dialect needs to know of an elicitation, read from the body of ``GET /v1/elicitations/{id}``."""

from __future__ import annotations

from elicit_flows.errors import AlreadyOver
from elicit_flows.states import TERMINAL
from elicit_flows.values import Json


def is_over(body: Json) -> bool:
    return body["status"] in TERMINAL


def open_only(body: Json) -> None:
    """Raises AlreadyOver: a link that is dead is not handed out once more."""
    if is_over(body):
        raise AlreadyOver(f"The elicitation is {body['status']}, and this protocol has nothing left to say about it.")


def by_link(body: Json) -> Json:
    """Mode, link and message, as MCP and ACP both call them. The link is all that the client learns."""
    return {"mode": "url", "message": body["message"], "url": body["url"]}
