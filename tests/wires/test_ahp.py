"""AHP: our actions are valid by its schema, and questions and answers are converted without loss."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from elicit_flows.domain.errors import AlreadyOver, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.form import params as forms
from elicit_flows.wires import ahp, ahp_answers
from elicit_flows.wires.ahp_questions import questions_of
from elicit_flows.wires.reply import Reply
from tests.kinds.form.asked import QUESTIONS
from tests.wires.answers import drafts
from tests.wires.bodies import ANY_KIND, ANY_PARAMS, EVERY, FORMS, ID, OVER, TEXTS, URL, body, of_form
from tests.wires.validator import Schema

AHP = Schema("ahp.json", "ahp-more.json")
CHAT = "ahp-chat:/1"
BY_ID = {question["id"]: question for question in QUESTIONS}


@pytest.mark.parametrize(("name", "status"), EVERY)
def test_every_action_is_valid(name: str, status: str):
    asked = body(name, status)
    AHP.check("SessionInputNeededRemovedAction", ahp.input_needed_removed(asked))
    action = ahp.message(asked)
    if status in OVER:
        AHP.check("ChatInputCompletedAction", action)
        assert action["response"] == (asked["action"] or "cancel")
        return
    AHP.check("ChatInputRequestedAction", action)
    AHP.check("SessionInputNeededSetAction", ahp.input_needed(asked, CHAT))
    assert ahp.input_needed(asked, CHAT)["request"]["request"] == action["request"]
    assert (action["request"]["id"], action["request"]["url"]) == (ID, URL)
    assert ("questions" in action["request"]) is (name in ("schema", "questions"))


@given(message=TEXTS, kind=ANY_KIND, params=ANY_PARAMS)
def test_whatever_an_agent_asks_the_action_is_valid(message: str, kind: str, params: Json):
    AHP.check("ChatInputRequestedAction", ahp.message(body(message=message, kind=kind, params=params)))


@given(params=FORMS)
def test_whatever_schema_is_asked_the_questions_are_valid(params: Json):
    action = ahp.message(of_form(params))
    AHP.check("ChatInputRequestedAction", action)
    assert [one["id"] for one in action["request"].get("questions", [])] == params["order"]


@given(params=FORMS)
def test_a_question_asks_what_its_property_asks(params: Json):
    """Read by the form's own reader, the questions are the same fields as the schema's."""
    questions = questions_of(of_form(params))
    ours = forms.read(params)[1].fields
    theirs = forms.read({"questions": questions})[1].fields
    for one, other in zip(ours, theirs, strict=True):
        same = ("key", "sort", "label", "help", "required", "low", "high", "format", "values")
        assert {name: getattr(one, name) for name in same} == {name: getattr(other, name) for name in same}


def test_questions_are_asked_as_they_were_given():
    assert ahp.request(body("questions"))["questions"] == QUESTIONS


def test_a_schema_with_everything_becomes_these_questions():
    found = {one["id"]: one for one in questions_of(body("schema"))}
    assert found["name"] == {
        "id": "name", "kind": "text", "message": "Full name", "required": True, "min": 2, "max": 60,
    }  # fmt: skip
    assert found["code"] == {
        "id": "code", "kind": "text", "title": "Booking reference", "message": "Three letters, a dash, two digits.",
    }  # fmt: skip
    assert found["seats"] == {
        "id": "seats", "kind": "integer", "message": "Seats", "min": 1, "max": 9, "defaultValue": 2,
    }  # fmt: skip
    assert found["class"]["options"] == [
        {"id": "eco", "label": "Economy", "recommended": True}, {"id": "biz", "label": "Business"},
    ]  # fmt: skip
    assert found["meal"]["options"][0] == {"id": "v", "label": "Vegetarian", "description": "No meat, no fish"}
    assert found["extras"]["required"] is True
    assert (found["extras"]["min"], found["extras"]["max"]) == (1, 2)
    assert found["window"] == {"id": "window", "kind": "boolean", "message": "Window", "defaultValue": True}


def test_ahp_1_a_request_has_the_link_or_the_questions_or_both():
    assert "questions" not in ahp.message(body())["request"]
    assert {"questions", "url"} <= ahp.message(body("schema"))["request"].keys()
    alone = ahp.message(body("questions"), True)
    AHP.check("ChatInputRequestedAction", alone)
    assert "url" not in alone["request"]
    with pytest.raises(Invalid):
        ahp.message(body(), True)


def test_ahp_9_asked_again_it_leaves_the_drafts_alone_unless_it_brings_its_own():
    assert "answers" not in ahp.request(body("questions"))
    kept = {"count": {"state": "draft", "value": 3, "seq": 2, "by": "agent"}, "keep": {"seq": 3, "by": "person"}}
    again = ahp.request(body("questions"), kept)
    assert again["answers"] == {"count": {"state": "draft", "value": {"kind": "number", "value": 3}}}
    AHP.check("ChatInputRequest", again)


@pytest.mark.parametrize("status", OVER)
def test_what_is_over_is_not_asked_again(status: str):
    for build in (ahp.request, lambda one: ahp.input_needed(one, CHAT)):
        with pytest.raises(AlreadyOver):
            build(body(status=status))


@pytest.mark.parametrize(
    ("status", "response"),
    [
        ("completed", "accept"), ("declined", "decline"), ("cancelled", "cancel"), ("expired", "cancel"),
        ("failed", "cancel"),
    ],
)  # fmt: skip
def test_ahp_7_every_end_has_a_response(status: str, response: str):
    assert ahp.message(body(status=status))["response"] == response


def test_ahp_13_the_completion_carries_the_final_answers():
    result = {
        "content": {"count": 2, "runtime": {"value": None, "freeformValues": ["bun"]}},
        "skipped": {"who": "Later"},
    }
    action = ahp.message(body("questions", "completed", result=result))
    AHP.check("ChatInputCompletedAction", action)
    assert action["answers"] == {
        "count": {"state": "submitted", "value": {"kind": "number", "value": 2}},
        "runtime": {"state": "submitted", "value": {"kind": "selected", "value": "", "freeformValues": ["bun"]}},
        "who": {"state": "skipped", "freeformValues": ["Later"]},
    }
    assert "answers" not in ahp.message(body("questions", "declined", result=None))


@given(drafts())
def test_ahp_3_an_answer_there_and_back_is_the_same(pair: tuple[Json, Json]):
    question, answer = pair
    said = ahp_answers.to_ahp(question, answer)
    AHP.check("ChatInputAnswer", said)
    AHP.check("ChatInputAnswerChangedAction", ahp.answer_changed(body("questions"), question, answer))
    assert ahp_answers.from_ahp(question, said) == answer


def test_ahp_4_a_cleared_draft_has_no_answer_and_a_skipped_one_may_have_a_reason():
    question = BY_ID["who"]
    for cleared in (None, {"seq": 3, "by": "person"}):
        action = ahp.answer_changed(body("questions"), question, cleared)
        AHP.check("ChatInputAnswerChangedAction", action)
        assert action == {"type": "chat/inputAnswerChanged", "requestId": ID, "questionId": "who"}
    assert ahp_answers.from_ahp(question, {"state": "skipped"}) == {"state": "skipped"}
    found = ahp_answers.from_ahp(question, {"state": "skipped", "freeformValues": ["not", "now"]})
    assert found == {"state": "skipped", "reason": "not now"}


def test_a_whole_number_may_come_as_a_float():
    said = {"state": "submitted", "value": {"kind": "number", "value": 3.0}}
    assert repr(ahp_answers.from_ahp(BY_ID["count"], said)["value"]) == "3"
    assert repr(ahp_answers.from_ahp(BY_ID["weight"], said)["value"]) == "3.0"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("count", None), ("count", {}), ("count", {"state": "draft"}), ("count", {"state": "final", "value": 1}),
        ("count", {"state": "draft", "value": 3}), ("count", {"state": "draft", "value": {"kind": "number"}}),
        ("count", {"state": "draft", "value": {"kind": "text", "value": "3"}}),
        ("runtime", {"state": "draft", "value": {"kind": "selected-many", "value": ["node"]}}),
        ("runtime", {"state": "draft", "value": {"kind": "selected", "value": "node", "freeformValues": "bun"}}),
        ("size", {"state": "draft", "value": {"kind": "selected", "value": "", "freeformValues": ["medium"]}}),
        ("who", {"state": "skipped", "freeformValues": [1]}),
    ],
)  # fmt: skip
def test_an_answer_that_the_protocol_says_to_reject_is_refused_with_a_reason(name: str, answer: Any):
    with pytest.raises(Invalid) as refused:
        ahp_answers.from_ahp(BY_ID[name], answer)
    assert refused.value.detail


@pytest.mark.parametrize("response", ["accept", "decline", "cancel"])
def test_a_clients_completion_is_read(response: str):
    assert ahp.reply({"type": "chat/inputCompleted", "requestId": ID, "response": response}) == Reply(response)


@pytest.mark.parametrize("action", [None, {}, {"response": "yes"}, {"response": None}, []])
def test_a_malformed_completion_is_refused(action: Any):
    with pytest.raises(Invalid):
        ahp.reply(action)
