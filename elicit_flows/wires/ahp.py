"""AHP since 0.4: actions on the chat channel (ChatInputRequest), and since 0.5.1 the session's list of needed input.

The host that dispatches them adds the channel and its sequence numbers. A request's id is the elicitation's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires import ahp_answers
from elicit_flows.wires.ahp_questions import questions_of
from elicit_flows.wires.asked import is_over, open_only
from elicit_flows.wires.reply import ACTIONS, CANCEL, Reply

IN_PROGRESS = 8  # SessionStatus.InProgress
INPUT_NEEDED = 24  # SessionStatus.InputNeeded, which has the bit of InProgress


def message(body: Json, form: bool = False) -> Json:
    """The next action: ``chat/inputRequested``, or, once it is over, ``chat/inputCompleted``.

    ``form``: only the questions, without the link. Raises Invalid.
    """
    if is_over(body):
        return completed(body)
    return {"type": "chat/inputRequested", "request": request(body, form=form)}


def request(body: Json, answers: Json | None = None, *, form: bool = False) -> Json:
    """A ChatInputRequest: the link, and the questions of a form. Dispatched again, it replaces the earlier one.

    ``answers``: those of ``GET /v1/elicitations/{id}/draft``. Without them, what clients have written is kept. Raises
    Invalid and AlreadyOver.
    """
    open_only(body)
    asked: Json = {"id": body["id"], "message": body["message"]}
    questions = questions_of(body)
    if form and not questions:
        raise Invalid.at("mode", "Only an elicitation of kind form can be given in form mode.")
    asked |= {} if form else {"url": body["url"]}
    asked |= {"questions": questions} if questions else {}
    return asked | ({} if answers is None else {"answers": ahp_answers.of_draft(questions, answers)})


def answer_changed(body: Json, question: Json, answer: Json | None) -> Json:
    """``chat/inputAnswerChanged`` for one of ``questions_of(body)``. ``answer`` is the API's draft answer, None if
    cleared.
    """
    said = ahp_answers.to_ahp(question, answer)
    action: Json = {"type": "chat/inputAnswerChanged", "requestId": body["id"], "questionId": question["id"]}
    return action | ({} if said is None else {"answer": said})


def completed(body: Json) -> Json:
    """``chat/inputCompleted``, with a form's answers. A failure is sent as cancel, because AHP has no failure."""
    action: Json = {"type": "chat/inputCompleted", "requestId": body["id"], "response": body["action"] or CANCEL}
    answers = ahp_answers.of_result(questions_of(body), body["result"])
    return action | ({"answers": answers} if answers else {})


def input_needed(body: Json, chat: str) -> Json:
    """``session/inputNeededSet``: the same request in the session's list. ``chat`` is the URI of its chat.

    Raises AlreadyOver.
    """
    entry = {"id": body["id"], "chat": chat, "kind": "chatInput", "request": request(body)}
    return {"type": "session/inputNeededSet", "request": entry}


def input_needed_removed(body: Json) -> Json:
    """``session/inputNeededRemoved``, once it is over."""
    return {"type": "session/inputNeededRemoved", "id": body["id"]}


def chat_updated(chat: str, status: int) -> Json:
    """``session/chatUpdated`` for the summary of a chat, by its URI. ``status`` is a SessionStatus."""
    return {"type": "session/chatUpdated", "chat": chat, "changes": {"status": status}}


def auth_required(turn: str, tool_call: str, resource: str, *, scopes: Iterable[str] = (), message: str = "") -> Json:
    """``chat/toolCallAuthRequired``, since 0.6: the call of an MCP server's tool pauses until an account is connected.
    ``resource`` identifies the server (RFC 8707). Reducers accept this only for calls that an MCP server contributed.

    Its metadata names no authorization server, so that no client tries to get a token of its own.
    """
    auth: Json = {"reason": "required", "resource": {"resource": resource, "authorization_servers": []}}
    auth |= {"requiredScopes": list(scopes)} if scopes else {}
    auth |= {"description": message} if message else {}
    return {"type": "chat/toolCallAuthRequired", "turnId": turn, "toolCallId": tool_call, "auth": auth}


def auth_resolved(turn: str, tool_call: str) -> Json:
    """``chat/toolCallAuthResolved``: the call continues. It says nothing about the connection."""
    return {"type": "chat/toolCallAuthResolved", "turnId": turn, "toolCallId": tool_call}


def reply(action: Any) -> Reply:
    """The reply in a client's ``chat/inputCompleted``. Raises Invalid.

    Its ``answers`` are added to the drafts: read each one with ``ahp_answers.from_ahp``.
    """
    response = action.get("response") if isinstance(action, dict) else None
    if response not in ACTIONS:
        raise Invalid.at("response", "Give accept, decline or cancel.")
    return Reply(response)
