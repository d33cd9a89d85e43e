"""Older versions of the protocols, as their documents describe them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from elicit_flows.domain.errors import AlreadyOver, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires import acp, acp_session_elicitation, ahp, ahp_session_input, mcp_input_list
from elicit_flows.wires.reply import Reply
from tests.wires.bodies import EVERY, FORMS, ID, OVER, PLAIN, URL, body, of_form
from tests.wires.validator import Schema

AHP = Schema("ahp.json", "ahp-more.json")
MCP = Schema("mcp-2025-11-25.json")
SESSION = "copilot:/s1"


@pytest.mark.parametrize(("name", "status"), EVERY)
def test_ahps_older_actions_are_those_of_the_session(name: str, status: str):
    today = ahp.message(body(name, status))
    action = ahp_session_input.older(today, SESSION)
    assert action["type"] == ("session/inputCompleted" if status in OVER else "session/inputRequested")
    assert action["session"] == SESSION
    assert ahp_session_input.newer(action) == today
    if status not in OVER:
        assert action["request"].keys() <= {"id", "message", "url", "questions", "answers"}
        assert {"id", "message"} <= action["request"].keys()


def test_a_clients_older_action_is_read_as_one_of_today():
    given_one = {"type": "session/inputCompleted", "session": SESSION, "requestId": ID, "response": "decline"}
    found = ahp_session_input.newer(given_one)
    AHP.check("ChatInputCompletedAction", found)
    assert ahp.reply(found) == Reply("decline")


@pytest.mark.parametrize(
    ("version", "spoken"), [("0.1.0", True), ("0.3.9", True), ("0.4.0", False), ("0.10.0", False), ("1.0.0", False)]
)
def test_ahps_dialect_is_chosen_by_version(version: str, spoken: bool):
    assert ahp_session_input.is_spoken(version) is spoken


@pytest.mark.parametrize("status", ["pending", *OVER])
def test_acps_older_request_is_the_sessions_and_its_notification_mcps(status: str):
    message = acp_session_elicitation.message(body(status=status), "s1")
    if status in OVER:
        assert message == {"method": "notifications/elicitation/complete", "params": {"elicitationId": ID}}
        return
    assert message["method"] == "session/elicitation"
    assert message["params"] == acp.request(body(), acp.in_session("s1"))["params"]
    form = acp_session_elicitation.form(of_form(PLAIN), "s1")
    assert (form["method"], form["params"]["mode"], form["params"]["sessionId"]) == (
        "session/elicitation",
        "form",
        "s1",
    )


def test_acps_older_refusal_is_mcps():
    error = acp_session_elicitation.required([body()])
    MCP.check("URLElicitationRequiredError", {"jsonrpc": "2.0", "id": 1, "error": error})
    assert acp_session_elicitation.reply({"action": "accept", "content": {"a": 1}}) == Reply("accept", {"a": 1})


def recognised(result: Json) -> bool:
    """The rule of the document: a list that is not empty, and a state that is not empty."""
    asked, state = result.get("inputRequests"), result.get("requestState")
    return isinstance(asked, list) and len(asked) > 0 and isinstance(state, str) and state != ""


@pytest.mark.parametrize("name", ["oauth", "payment", "credentials", "schema", "confirm", "link", "steps"])
def test_the_list_is_recognised_and_has_the_link_in_words(name: str):
    result = mcp_input_list.message(body(name), "sealed")
    assert recognised(result)
    assert [(one["id"], one["kind"], one["required"]) for one in result["inputRequests"]] == [(ID, "boolean", True)]
    assert URL in result["inputRequests"][0]["description"]


@given(params=FORMS)
def test_a_form_as_a_list_is_recognised_or_refused(params: Json):
    if not params["order"]:
        with pytest.raises(Invalid):
            mcp_input_list.form(of_form(params), "sealed")
        return
    result = mcp_input_list.form(of_form(params), "sealed")
    assert recognised(result)
    assert [one["id"] for one in result["inputRequests"]] == params["order"]
    assert {one["id"] for one in result["inputRequests"] if one["required"]} == set(params["schema"]["required"])


def test_a_half_shaped_list_is_never_sent():
    with pytest.raises(Invalid):
        mcp_input_list.message(body(), "")
    for status in OVER:
        with pytest.raises(AlreadyOver):
            mcp_input_list.message(body(status=status), "sealed")


def test_the_lists_answers_are_read():
    given_ones = [{"id": ID, "value": True}, {"id": "plan", "value": "pro"}]
    assert mcp_input_list.reply(given_ones, ID) == Reply("accept")
    assert mcp_input_list.reply([{"id": ID, "value": False}], ID) == Reply("decline")
    assert mcp_input_list.reply([{"id": ID, "value": "true"}], ID) == Reply("decline")
    assert mcp_input_list.reply(given_ones, "other") is None
    assert mcp_input_list.reply(None, ID) is None
    assert mcp_input_list.content(given_ones[1:]) == Reply("accept", {"plan": "pro"})


@pytest.mark.parametrize("responses", [{}, {"id": True}, "x", [1], [{"id": "a"}], [{"value": 1}]])
def test_answers_that_are_no_list_are_refused(responses: Any):
    with pytest.raises(Invalid):
        mcp_input_list.answers(responses)
