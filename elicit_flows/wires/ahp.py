"""AHP since 0.4: actions on the chat channel (ChatInputRequest), and since 0.5.1 the session's list of what needs one.

The host that dispatches them adds the channel and its numbers. The elicitation's id is the request's.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.errors import Invalid
from elicit_flows.values import Json
from elicit_flows.wires import ahp_answers
from elicit_flows.wires.ahp_questions import questions_of
from elicit_flows.wires.asked import is_over, open_only
from elicit_flows.wires.reply import ACTIONS, CANCEL, Reply


def message(body: Json, form: bool = False) -> Json:
    """What there is to dispatch now: ``chat/inputRequested``, and once it is over ``chat/inputCompleted``.

    With ``form`` the questions alone, without the link. Raises Invalid.
    """
    if is_over(body):
        return completed(body)
    return {"type": "chat/inputRequested", "request": request(body, form=form)}


def request(body: Json, answers: Json | None = None, *, form: bool = False) -> Json:
    """A ChatInputRequest: the link, and the questions where it is a form. Dispatched again, it takes the other's place.

    ``answers``: those of ``GET /v1/elicitations/{id}/draft``. Without them, what clients have written stays as it is.
    Raises Invalid, AlreadyOver.
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
    """``chat/inputAnswerChanged`` for one of ``questions_of(body)``; ``answer`` is our draft's, None once cleared."""
    said = ahp_answers.to_ahp(question, answer)
    action: Json = {"type": "chat/inputAnswerChanged", "requestId": body["id"], "questionId": question["id"]}
    return action | ({} if said is None else {"answer": said})


def completed(body: Json) -> Json:
    """``chat/inputCompleted`` for what is over, with a form's answers. A failure is said as cancel: AHP has none."""
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


def reply(action: Any) -> Reply:
    """The reply in a client's ``chat/inputCompleted``. Raises Invalid.

    Its ``answers`` come on top of the drafts: read each with ``ahp_answers.from_ahp``.
    """
    response = action.get("response") if isinstance(action, dict) else None
    if response not in ACTIONS:
        raise Invalid.at("response", "Say accept, decline or cancel.")
    return Reply(response)
