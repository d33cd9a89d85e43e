"""What a client answered, whichever protocol it used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json

ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"
ACTIONS = (ACCEPT, DECLINE, CANCEL)


@dataclass(frozen=True, slots=True)
class Reply:
    """``action`` is accept, decline or cancel. Anything else came from a newer client and must not be guessed at.

    Accepting a request in URL mode only means that the user agreed to open the link; the elicitation says how it went.
    ``content`` is what was typed into a form; None if there was no form.
    """

    action: str
    content: Json | None = None

    @property
    def known(self) -> bool:
        return self.action in ACTIONS


def read(answer: Any, *, strict: bool = True, content: str = "content") -> Reply:
    """The reply in a bare result ``{action, content?}``. ``content`` is the protocol's name for that member.

    Null content counts as none, as ACP requires. ``strict`` refuses other actions than the three. Raises Invalid.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("action"), str):
        raise Invalid.at("action", "Give an object with action: accept, decline or cancel.")
    action = answer["action"]
    if strict and action not in ACTIONS:
        raise Invalid.at("action", "Give accept, decline or cancel.")
    given = answer.get(content)
    if given is not None and not isinstance(given, dict):
        raise Invalid.at(content, "Give an object.")
    return Reply(action, given if action == ACCEPT else None)
