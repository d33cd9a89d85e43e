"""Tesseron's prompts, and how its answers are read (rows T-1, T-4, T-5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from elicit_flows.domain.errors import AlreadyOver, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires import tesseron
from elicit_flows.wires.reply import Reply
from tests.wires.bodies import ANY_KIND, ANY_PARAMS, EVERY, FORMS, OVER, PLAIN, TEXTS, URL, body, of_form
from tests.wires.validator import Schema

TESSERON = Schema("tesseron.json")


def sent(message: Json) -> Json:
    return {**message, "params": {"invocationId": "inv_1", **message["params"]}}


@pytest.mark.parametrize(("name", "status"), EVERY)
def test_every_prompt_is_valid_and_has_the_link(name: str, status: str):
    if status in OVER:
        with pytest.raises(AlreadyOver):
            tesseron.message(body(name, status))
        return
    message = tesseron.message(body(name, status))
    TESSERON.check("ElicitationRequest", sent(message))
    assert URL in message["params"]["question"]
    assert message["params"]["question"].startswith("I need you for a moment.")


@given(message=TEXTS, kind=ANY_KIND, params=ANY_PARAMS)
def test_whatever_an_agent_asks_the_prompt_is_valid(message: str, kind: str, params: Json):
    TESSERON.check("ElicitationRequest", sent(tesseron.message(body(message=message, kind=kind, params=params))))


def test_t_5_a_prompt_for_a_link_has_no_fields():
    assert tesseron.message(body())["params"]["schema"] == {"type": "object", "properties": {}, "required": []}


@given(params=FORMS)
def test_t_4_a_form_is_valid_or_refused_before_it_is_sent(params: Json):
    lists = [key for key, rule in params["schema"]["properties"].items() if rule["type"] == "array"]
    if lists:
        with pytest.raises(Invalid):
            tesseron.message(of_form(params), True)
    else:
        found = tesseron.message(of_form(params), True)
        TESSERON.check("ElicitationRequest", sent(found))
        assert URL not in found["params"]["question"]


@pytest.mark.parametrize("name", ["oauth", "payment", "credentials", "questions", "confirm", "link", "steps"])
def test_only_a_form_is_asked_as_one(name: str):
    with pytest.raises(Invalid):
        tesseron.message(body(name), True)
    with pytest.raises(AlreadyOver):
        tesseron.message(of_form(PLAIN, status="completed"), True)


def test_the_answers_are_read():
    assert tesseron.reply({"action": "accept", "value": {"plan": "pro"}}) == Reply("accept", {"plan": "pro"})
    for action in ("decline", "cancel"):
        assert tesseron.reply({"action": action}) == Reply(action)
    for result in (None, {}, {"action": "ok"}, {"action": "accept", "value": "pro"}):
        with pytest.raises(Invalid):
            tesseron.reply(result)


@pytest.mark.parametrize(
    "result", [{"action": "decline"}, {"action": "cancel"}, None, {}, "accept", True, {"action": True}, ["accept"]]
)
def test_t_1_nothing_but_an_explicit_accept_is_a_yes(result: Any):
    assert not tesseron.confirmed(result)
    assert tesseron.confirmed({"action": "accept"})
    assert tesseron.confirmed({"action": "accept", "value": {}})
