"""ACP: our messages are valid by its schema once the scope is added, and answers are read strictly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from elicit_flows import kinds
from elicit_flows.domain.errors import AlreadyOver, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires import acp
from elicit_flows.wires.reply import Reply
from tests.wires.bodies import ANY_KIND, ANY_PARAMS, EVERY, FORMS, ID, OVER, PLAIN, TEXTS, URL, body, of_form
from tests.wires.validator import Schema

ACP = Schema("acp.json")
SCOPES = [acp.in_session("s1"), acp.in_session("s1", "t1"), acp.in_request(12), acp.in_request("a")]


@pytest.mark.parametrize(("name", "status"), EVERY)
def test_every_message_is_valid(name: str, status: str):
    message = acp.message(body(name, status))
    if status in OVER:
        assert message["method"] == "elicitation/complete"
        ACP.check("CompleteElicitationNotification", message["params"])
        return
    assert message["method"] == "elicitation/create"
    ACP.check("ElicitationUrlMode", message["params"] | acp.in_session("s1"))
    assert message["params"] == {
        "mode": "url", "message": "I need you for a moment.", "url": URL, "elicitationId": ID,
    }  # fmt: skip


@pytest.mark.parametrize("scope", SCOPES, ids="-".join)
def test_acp_5_a_message_is_complete_with_any_scope_and_not_without(scope: Json):
    ACP.check("CreateElicitationRequest", acp.request(body(), scope)["params"])
    assert acp.request(body(), scope)["params"].items() >= scope.items()
    assert not ACP.fits("CreateElicitationRequest", acp.request(body())["params"])


@given(message=TEXTS, kind=ANY_KIND, params=ANY_PARAMS)
def test_whatever_an_agent_asks_the_message_is_valid(message: str, kind: str, params: Json):
    asked = body(message=message, kind=kind, params=params)
    ACP.check("CreateElicitationRequest", acp.request(asked, acp.in_session("s1"))["params"])


@given(params=FORMS)
def test_whatever_form_is_asked_form_mode_is_valid(params: Json):
    found = acp.message(of_form(params), True)["params"]
    ACP.check("ElicitationFormMode", found | acp.in_session("s1"))
    assert found["mode"] == "form"
    assert list(found["requestedSchema"]["properties"]) == params["order"]


def test_names_of_options_are_said_as_acp_says_them_and_lengths_fit():
    asked = acp.message(of_form(PLAIN), True)["params"]["requestedSchema"]["properties"]["plan"]
    assert asked == {"type": "string", "oneOf": [{"const": "free", "title": "Free"}, {"const": "pro", "title": "Pro"}]}
    long = {"schema": {"type": "object", "properties": {"x": {"type": "string", "maxLength": 2**63 - 1}}}}
    found = acp.message(of_form(long), True)["params"]["requestedSchema"]["properties"]["x"]
    assert found["maxLength"] == 2**32 - 1


def test_whole_numbers_are_whole():
    properties = {
        "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1.0, "maxItems": 2.0},
        "text": {"type": "string", "minLength": 2.0, "maxLength": 3.0},
        "count": {"type": "integer", "minimum": 0.5, "maximum": 9.5, "default": 2.0},
        "share": {"type": "number", "minimum": 0.5, "default": 2.0},
    }
    given = kinds.get("form").clean({"schema": {"type": "object", "properties": properties}})
    found = acp.message(of_form(given), True)["params"]
    ACP.check("CreateElicitationRequest", found | acp.in_session("s1"))
    said = {key: list(rule.values()) for key, rule in found["requestedSchema"]["properties"].items()}
    assert repr(said["count"]) == "['integer', 1, 9, 2]"
    assert repr(said["text"]) == "['string', 2, 3]"
    assert repr(said["many"][2:]) == "[1, 2]"
    assert repr(said["share"]) == "['number', 0.5, 2.0]"


@pytest.mark.parametrize("name", ["oauth", "payment", "credentials", "questions", "confirm", "link", "steps"])
def test_acp_2_there_is_no_way_from_a_link_to_form_mode(name: str):
    with pytest.raises(Invalid):
        acp.message(body(name), True)


def test_form_mode_has_nothing_to_say_of_what_is_over():
    with pytest.raises(AlreadyOver):
        acp.message(of_form(PLAIN, status="completed"), True)


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_acp_8_the_three_answers_are_read(action: str):
    ACP.check("CreateElicitationResponse", {"action": action})
    assert acp.reply({"action": action, "content": None}) == Reply(action)
    assert acp.reply({"action": action}).known


def test_acp_16_an_action_of_the_future_is_kept_and_not_guessed_at():
    found = acp.reply({"action": "_later", "content": {"a": 1}})
    assert (found.action, found.known, found.content) == ("_later", False, None)


@pytest.mark.parametrize("result", [None, "accept", {}, {"action": 1}, {"action": "accept", "content": "x"}])
def test_a_malformed_answer_is_refused(result: Any):
    with pytest.raises(Invalid):
        acp.reply(result)
