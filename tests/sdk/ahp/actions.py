"""What an AHP action must look like, and what clients say. ``tool-calls.json`` is written by hand after AHP 0.6."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elicit_flows.domain.values import Json
from tests.wires.validator import Schema

AHP = Schema("ahp.json", "ahp-more.json", str(Path(__file__).parent / "tool-calls.json"))
DEFINITIONS = {
    "chat/inputRequested": "ChatInputRequestedAction",
    "chat/inputAnswerChanged": "ChatInputAnswerChangedAction",
    "chat/inputCompleted": "ChatInputCompletedAction",
    "session/inputNeededSet": "SessionInputNeededSetAction",
    "session/inputNeededRemoved": "SessionInputNeededRemovedAction",
    "session/chatUpdated": "SessionChatUpdatedAction",
    "chat/toolCallAuthRequired": "ChatToolCallAuthRequiredAction",
    "chat/toolCallAuthResolved": "ChatToolCallAuthResolvedAction",
}
QUESTIONS: list[Json] = [
    {"id": "name", "kind": "text", "message": "What is it called?", "required": True, "min": 2},
    {"id": "seats", "kind": "integer", "message": "How many?", "min": 1, "max": 9},
    {"id": "sure", "kind": "boolean", "message": "Sure?"},
]
ASKED: Json = {"questions": QUESTIONS}


def check(action: Json) -> Json:
    """``action``, which is valid."""
    if action["type"] in DEFINITIONS:
        AHP.check(DEFINITIONS[action["type"]], action)
    return action


def text(value: str, state: str = "submitted") -> Json:
    return {"state": state, "value": {"kind": "text", "value": value}}


def number(value: float, state: str = "submitted") -> Json:
    return {"state": state, "value": {"kind": "number", "value": value}}


def changed(request: str, question: str, answer: Any = None) -> Json:
    action: Json = {"type": "chat/inputAnswerChanged", "requestId": request, "questionId": question}
    return action | ({} if answer is None else {"answer": answer})


def completed(request: str, response: str, **answers: Json) -> Json:
    action: Json = {"type": "chat/inputCompleted", "requestId": request, "response": response}
    return action | ({"answers": answers} if answers else {})
