"""What every protocol needs to know about an elicitation, from the body of ``GET /v1/elicitations/{id}``."""

from __future__ import annotations

from elicit_flows.domain.errors import AlreadyOver
from elicit_flows.domain.status import TERMINAL
from elicit_flows.domain.values import Json


def is_over(body: Json) -> bool:
    return body["status"] in TERMINAL


def open_only(body: Json) -> None:
    """Raise AlreadyOver if it is over, so that nobody is given a dead link."""
    if is_over(body):
        raise AlreadyOver(f"The elicitation is {body['status']}: this protocol has nothing more to send.")


def by_link(body: Json) -> Json:
    """Mode, link and message under the names of MCP and ACP. The client learns nothing but the link."""
    return {"mode": "url", "message": body["message"], "url": body["url"]}
