"""What a client answered, whichever protocol it said it in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elicit_flows.errors import Invalid
from elicit_flows.values import Json

ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"
ACTIONS = (ACCEPT, DECLINE, CANCEL)


@dataclass(frozen=True, slots=True)
class Reply:
    """``action`` is accept, decline or cancel; anything else came from a newer client and must not be guessed at.

    To a request in URL mode, accept means that the user agreed to open the link, and nothing more: how it went, the
    elicitation says. ``content`` is what was typed, where the request was a form; None where there was none.
    """

    action: str
    content: Json | None = None

    @property
    def known(self) -> bool:
        return self.action in ACTIONS


def read(answer: Any, *, strict: bool = True, content: str = "content") -> Reply:
    """The reply in a bare result ``{action, content?}``. ``content`` says what that protocol calls it.

    Null content is none (ACP says so). With ``strict`` an action besides the three is refused. Raises Invalid.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("action"), str):
        raise Invalid.at("action", "An answer is an object with action: accept, decline or cancel.")
    action = answer["action"]
    if strict and action not in ACTIONS:
        raise Invalid.at("action", "Say accept, decline or cancel.")
    given = answer.get(content)
    if given is not None and not isinstance(given, dict):
        raise Invalid.at(content, "Give an object.")
    return Reply(action, given if action == ACCEPT else None)
