"""The state of a chat and of a session after an action: pure functions, which every client has as well.

They cover the actions of AHP 1.0 that this host dispatches. An input request is a part of the turn's response, and
stays there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
Parts = list[Json]

IDLE, IN_PROGRESS, INPUT_NEEDED = 1, 8, 24
ENDS = {"chat/turnComplete": "complete", "chat/turnCancelled": "cancelled"}


def new_chat(uri: str, title: str) -> Json:
    return {"resource": uri, "title": title, "status": IDLE, "modifiedAt": now(), "turns": []}


def now() -> str:
    return datetime.now(UTC).isoformat()


def new_session(chats: list[Json]) -> Json:
    return {
        "provider": "elicit-flows-example", "title": "Example", "status": IDLE, "lifecycle": "ready",
        "activeClients": [], "chats": chats, "defaultChat": chats[0]["resource"], "inputNeeded": [],
    }  # fmt: skip


def session(state: Json, action: Json) -> Json:
    """``session/inputNeeded…``: what needs a person, in all of the session's chats."""
    entry = action.get("request", {})
    key = entry.get("id") or action["id"]
    needed = [one for one in state["inputNeeded"] if one["id"] != key] + ([entry] if entry else [])
    return {**state, "inputNeeded": needed, "status": INPUT_NEEDED if needed else IDLE}


def chat(state: Json, action: Json) -> Json:
    if action["type"] == "chat/turnStarted":
        started = {"id": action["turnId"], "startedAt": action.get("startedAt", ""), "message": action["message"]}
        return _with_turn(state, {**started, "responseParts": []})
    turn = state.get("activeTurn")
    if turn is None:
        return state
    if action["type"] in ENDS:
        return _ended(state, turn, action)
    return _with_turn(state, {**turn, "responseParts": PARTS[action["type"]](turn["responseParts"], action)})


def _with_turn(state: Json, turn: Json) -> Json:
    waits = any(_is_open(part) or _call(part).get("status") == "auth-required" for part in turn["responseParts"])
    return {**state, "activeTurn": turn, "status": INPUT_NEEDED if waits else IN_PROGRESS}


def _ended(state: Json, turn: Json, action: Json) -> Json:
    """A request without a response is kept as it is; a call that has not ended is cancelled."""
    parts = [
        {**part, "toolCall": _picked(_call(part), "cancelled", reason="skipped")}
        if _call(part).get("status", "completed") != "completed"
        else part
        for part in turn["responseParts"]
    ]
    ended = {**turn, "responseParts": parts, "state": ENDS[action["type"]], "duration": action.get("duration", 0)}
    rest = {name: value for name, value in state.items() if name != "activeTurn"}
    return {**rest, "turns": [*state["turns"], ended], "status": IDLE}


def _add(parts: Parts, action: Json) -> Parts:
    return [*parts, action["part"]]


# Input requests.


def _is_open(part: Json, request: str | None = None) -> bool:
    found = part["kind"] == "inputRequest" and "response" not in part
    return found and (request is None or part["request"]["id"] == request)


def _requested(parts: Parts, action: Json) -> Parts:
    """A repeated request replaces the earlier one, and keeps its answers unless it brings its own."""
    request = action["request"]
    found = next((part["request"] for part in parts if _is_open(part, request["id"])), None)
    if found is None:
        return [*parts, {"kind": "inputRequest", "request": request}]
    kept = {"answers": found["answers"]} if "answers" in found else {}
    return _replaced(parts, request["id"], lambda part: {**part, "request": kept | request})


def _answer_changed(parts: Parts, action: Json) -> Parts:
    def changed(part: Json) -> Json:
        answers = {key: one for key, one in part["request"].get("answers", {}).items() if key != action["questionId"]}
        if "answer" in action:
            answers[action["questionId"]] = action["answer"]
        return {**part, "request": {**part["request"], "answers": answers}}

    return _replaced(parts, action["requestId"], changed)


def _completed(parts: Parts, action: Json) -> Parts:
    def completed(part: Json) -> Json:
        answers = part["request"].get("answers", {}) | action.get("answers", {})
        return {**part, "request": {**part["request"], "answers": answers}, "response": action["response"]}

    return _replaced(parts, action["requestId"], completed)


def _replaced(parts: Parts, request: str, change: Callable[[Json], Json]) -> Parts:
    return [change(part) if _is_open(part, request) else part for part in parts]


# Tool calls as this host has them: without a confirmation, and always of an MCP server.

LASTING = ("toolCallId", "toolName", "displayName", "contributor", "invocationMessage", "confirmed")


def _call(part: Json) -> Json:
    found: Json = part.get("toolCall", {})
    return found


def _picked(call: Json, status: str, **more: Any) -> Json:
    return {name: call[name] for name in LASTING if name in call} | {"status": status, **more}


def _call_started(parts: Parts, action: Json) -> Parts:
    return [*parts, {"kind": "toolCall", "toolCall": _picked(action, "streaming")}]


def _moved(before: tuple[str, ...], status: str) -> Callable[[Parts, Json], Parts]:
    """The call with ``status``, if it was in one of the earlier ones, and with the action's own members."""

    def move(parts: Parts, action: Json) -> Parts:
        brought = {name: action[name] for name in ("invocationMessage", "confirmed", "auth") if name in action}
        brought |= action.get("result", {})
        return [
            {**part, "toolCall": _picked(_call(part), status) | brought}
            if _call(part).get("toolCallId") == action["toolCallId"] and _call(part)["status"] in before
            else part
            for part in parts
        ]

    return move


PARTS: dict[str, Callable[[Parts, Json], Parts]] = {
    "chat/responsePart": _add,
    "chat/inputRequested": _requested,
    "chat/inputAnswerChanged": _answer_changed,
    "chat/inputCompleted": _completed,
    "chat/toolCallStart": _call_started,
    "chat/toolCallReady": _moved(("streaming",), "running"),
    "chat/toolCallAuthRequired": _moved(("running",), "auth-required"),
    "chat/toolCallAuthResolved": _moved(("auth-required",), "running"),
    "chat/toolCallComplete": _moved(("running", "auth-required"), "completed"),
}
