"""The example's reducers do what AHP's own do: the facts of its fixtures 105, 107 and 110, as 1.0 has them."""

from __future__ import annotations

from functools import reduce
from typing import Any

from elicit_flows.domain.values import Json
from examples.ahp import state
from tests.sdk.ahp.actions import changed, completed, text

STARTED: Json = {"type": "chat/turnStarted", "turnId": "t", "message": {"text": "Hello", "origin": {"kind": "user"}}}
COMPLETE: Json = {"type": "chat/turnComplete", "turnId": "t", "duration": 5}


def requested(id: str, **more: Any) -> Json:
    return {"type": "chat/inputRequested", "request": {"id": id, "message": "Clarify.", **more}}


def after(*actions: Json) -> Json:
    return reduce(state.chat, actions, state.new_chat("ahp-chat:/1", "One"))


def parts(chat: Json) -> list[Json]:
    found: list[Json] = (chat.get("activeTurn") or chat["turns"][-1])["responseParts"]
    return found


def test_drafts_are_synchronised_and_a_completion_brings_the_turn_back_to_work() -> None:
    asked = after(STARTED, requested("i"), changed("i", "q1", text("node", "draft")), changed("i", "q2", text("x")))
    assert asked["status"] == state.INPUT_NEEDED
    assert parts(asked)[0]["request"]["answers"] == {"q1": text("node", "draft"), "q2": text("x")}
    done = state.chat(state.chat(asked, changed("i", "q2")), completed("i", "accept", q1=text("deno")))
    assert done["status"] == state.IN_PROGRESS
    assert parts(done) == [
        {
            "kind": "inputRequest", "response": "accept",
            "request": {"id": "i", "message": "Clarify.", "answers": {"q1": text("deno")}},
        }
    ]  # fmt: skip


def test_a_turns_end_keeps_what_has_no_response_and_the_chat_is_idle() -> None:
    over = after(STARTED, requested("url", url="https://example.com/form"), requested("form"), COMPLETE)
    assert (over["status"], "activeTurn" in over) == (state.IDLE, False)
    assert [part["request"]["id"] for part in parts(over)] == ["url", "form"]
    assert not any("response" in part for part in parts(over))
    assert state.chat(over, completed("form", "accept")) == over


def test_one_completion_leaves_the_others_open() -> None:
    one = after(STARTED, requested("complete-me"), requested("remaining"), completed("complete-me", "decline"))
    assert one["status"] == state.INPUT_NEEDED
    assert [part.get("response") for part in parts(one)] == ["decline", None]
    late = state.chat(one, completed("complete-me", "accept"))
    assert parts(late) == parts(one)


def test_asked_again_it_keeps_its_answers_unless_it_brings_its_own() -> None:
    asked = (STARTED, requested("i"), changed("i", "q", text("a")))
    again = after(*asked, requested("i", url="https://example.com/"))
    assert [part["request"]["answers"] for part in parts(again)] == [{"q": text("a")}]
    assert parts(after(*asked, requested("i", answers={})))[0]["request"]["answers"] == {}


def test_a_tool_call_pauses_keeps_its_context_and_is_cancelled_with_its_turn() -> None:
    call: Json = {"turnId": "t", "toolCallId": "c"}
    start = {"type": "chat/toolCallStart", "toolName": "list", "displayName": "List", **call}
    ready = {"type": "chat/toolCallReady", "invocationMessage": "Listing", "confirmed": "not-needed", **call}
    auth = {"type": "chat/toolCallAuthRequired", "auth": {"reason": "required"}, **call}
    paused = after(STARTED, start, ready, auth)
    assert (paused["status"], parts(paused)[0]["toolCall"]["status"]) == (state.INPUT_NEEDED, "auth-required")
    resumed = state.chat(paused, {"type": "chat/toolCallAuthResolved", **call})
    assert parts(resumed) == parts(after(STARTED, start, ready))
    assert parts(state.chat(paused, COMPLETE))[0]["toolCall"]["status"] == "cancelled"
    early = after(STARTED, start, auth)
    assert parts(early)[0]["toolCall"]["status"] == "streaming"
