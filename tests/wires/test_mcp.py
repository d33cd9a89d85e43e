"""Both revisions of MCP: our messages are valid by their schemas, and answers are read as the specification says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.domain.errors import AlreadyOver, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires import mcp_2025_11_25 as old
from elicit_flows.wires import mcp_2026_07_28 as new
from elicit_flows.wires.forms import submitted
from elicit_flows.wires.reply import Reply
from tests.wires.bodies import (
    ANY_KIND,
    ANY_PARAMS,
    EVERY,
    FORMS,
    ID,
    OVER,
    PLAIN,
    SCHEMA,
    TEXTS,
    URL,
    body,
    of_form,
)
from tests.wires.validator import Schema

OLD, NEW = Schema("mcp-2025-11-25.json"), Schema("mcp-2026-07-28.json")


def sent(message: Json) -> Json:
    """A request of the old revision as it goes out."""
    return {"jsonrpc": "2.0", "id": 1, **message}


@pytest.mark.parametrize(("name", "status"), EVERY)
def test_every_message_of_2025_is_valid(name: str, status: str):
    message = old.message(body(name, status))
    if status in OVER:
        OLD.check("ElicitationCompleteNotification", {"jsonrpc": "2.0", **message})
        assert message["params"] == {"elicitationId": ID}
        return
    OLD.check("ElicitRequest", sent(message))
    OLD.check("ElicitRequestURLParams", message["params"])
    assert message["params"] == {
        "mode": "url", "message": "I need you for a moment.", "url": URL, "elicitationId": ID,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "status"), EVERY)
def test_every_message_of_2026_is_valid_and_has_nothing_of_the_old_revision(name: str, status: str):
    if status in OVER:
        with pytest.raises(AlreadyOver):
            new.message(body(name, status))
        return
    message = new.message(body(name, status))
    NEW.check("InputRequiredResult", message)
    assert message == {
        "resultType": "input_required",
        "inputRequests": {
            ID: {
                "method": "elicitation/create",
                "params": {"mode": "url", "message": "I need you for a moment.", "url": URL},
            }
        },
    }


@given(message=TEXTS, kind=ANY_KIND, params=ANY_PARAMS)
def test_whatever_an_agent_asks_the_messages_are_valid(message: str, kind: str, params: Json):
    asked = body(message=message, kind=kind, params=params)
    OLD.check("ElicitRequest", sent(old.message(asked)))
    NEW.check("InputRequiredResult", new.message(asked))
    assert old.message(asked)["params"]["message"] == message


@given(params=FORMS, message=TEXTS)
def test_whatever_form_is_asked_form_mode_is_valid_in_both(params: Json, message: str):
    asked = of_form(params, message=message)
    for valid, found in ((OLD, old.message(asked, True)), (NEW, new.input_request(asked, True))):
        valid.check("ElicitRequestFormParams", found["params"])
        assert list(found["params"]["requestedSchema"]["properties"]) == params["order"]


def test_a_form_is_in_form_mode_only_where_that_was_asked_for():
    assert old.message(body("schema"))["params"]["mode"] == "url"
    assert new.input_request(body("schema"))["params"]["mode"] == "url"
    OLD.check("ElicitRequestFormParams", old.message(body("schema"), True)["params"])
    NEW.check("ElicitRequestFormParams", new.input_request(body("schema"), True)["params"])


def test_properties_come_in_the_order_in_which_they_are_asked():
    turned = {**SCHEMA, "order": SCHEMA["order"][::-1]}
    asked = old.message(of_form(turned), True)["params"]["requestedSchema"]
    assert list(asked["properties"]) == SCHEMA["order"][::-1]


@pytest.mark.parametrize("name", ["oauth", "payment", "credentials", "questions", "confirm", "link", "steps"])
def test_what_must_stay_outside_the_client_is_never_given_in_form_mode(name: str):
    for build in (old.message, new.message):
        with pytest.raises(Invalid) as refused:
            build(body(name), True)
        assert refused.value.errors[0]["loc"] == ["mode"]


def test_a_kind_that_is_no_form_is_not_given_as_one_whatever_its_parameters_are_called():
    for kind in ("credentials", "steps"):
        with pytest.raises(Invalid):
            old.message(body(kind=kind, params=PLAIN), True)


@pytest.mark.parametrize("status", OVER)
def test_a_link_that_is_over_is_not_handed_out_again(status: str):
    gone = body(status=status)
    for build in (new.message, new.input_request, lambda one: old.required([body(), one])):
        with pytest.raises(AlreadyOver):
            build(gone)
    for build in (old.message, new.message):
        with pytest.raises(AlreadyOver):
            build(of_form(PLAIN, status=status), True)


def test_the_refusal_names_everything_that_is_needed():
    error = old.required([body(), body("confirm", id="el_2")])
    OLD.check("URLElicitationRequiredError", {"jsonrpc": "2.0", "id": 1, "error": error})
    assert error["code"] == -32042
    assert [one["elicitationId"] for one in error["data"]["elicitations"]] == [ID, "el_2"]


def test_waiting_asks_nothing_and_the_missing_capability_is_named():
    NEW.check("InputRequiredResult", new.waiting("sealed"))
    assert new.waiting("sealed") == {"resultType": "input_required", "requestState": "sealed"}
    error = new.missing_capability()
    NEW.check("MissingRequiredClientCapabilityError", {"jsonrpc": "2.0", "id": 1, "error": error})
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"elicitation": {"url": {}}}})


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_the_three_answers_are_read(action: str):
    assert old.reply({"action": action}) == Reply(action)
    assert new.reply({"k": {"action": action}, "other": "ignored"}, "k") == Reply(action)


def test_content_is_read_and_becomes_a_draft_that_may_be_sent():
    found = old.reply({"action": "accept", "content": {"plan": "pro"}, "_meta": {}})
    assert found == Reply("accept", {"plan": "pro"})
    assert submitted({"plan": "pro"}) == {"plan": {"state": "submitted", "value": "pro"}}
    assert old.reply({"action": "decline", "content": {"plan": "pro"}}).content is None


def test_a_retry_without_the_answer_is_to_be_asked_again():
    assert new.reply(None, "k") is None
    assert new.reply({}, "k") is None
    assert new.reply({"other": {"action": "accept"}}, "k") is None


@pytest.mark.parametrize(
    "result", [None, "accept", [], {}, {"action": None}, {"action": "yes"}, {"action": "accept", "content": [1]}]
)
def test_a_malformed_answer_is_refused(result: Any):
    with pytest.raises(Invalid):
        old.reply(result)
    with pytest.raises(Invalid):
        new.reply({"k": result}, "k")


@pytest.mark.parametrize("responses", [[], [{"id": "k", "value": "accept"}], "k", 1, True])
def test_answers_in_the_shape_of_a_draft_of_the_protocol_are_refused(responses: Any):
    with pytest.raises(Invalid):
        new.reply(responses, "k")


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_nothing_but_accept_is_read_as_accept(result: Any):
    try:
        found = old.reply(result)
    except Invalid:
        return
    assert found.action == result["action"]
