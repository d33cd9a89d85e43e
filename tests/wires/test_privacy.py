"""T9: a message contains the link, the agent's text and a form's questions, and nothing else of the elicitation."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.domain.status import TERMINAL
from elicit_flows.domain.values import Json
from elicit_flows.wires import MESSAGES, acp_session_elicitation, ahp, ahp_session_input, mcp_2025_11_25, mcp_input_list
from tests.wires.bodies import ID, OPEN_ONES, PARAMS, URL, body

CANARY = "canary-7f3a"
PRIVATE: Json = {
    "subject": {"iss": f"https://{CANARY}.test", "sub": CANARY}, "metadata": {"call": CANARY},
    "error": {"code": CANARY, "message": CANARY}, "return_url": f"https://agent.test/{CANARY}",
}  # fmt: skip
EVERYTHING: dict[str, Callable[[Json], Json]] = {
    **{name: lambda one, build=build: build(one, False) for name, build in MESSAGES.items()},
    "refusal": lambda one: mcp_2025_11_25.required([one]),
    "input-needed": lambda one: ahp.input_needed(one, "ahp-chat:/1"),
    "older ahp": lambda one: ahp_session_input.older(ahp.message(one), "copilot:/1"),
    "older acp": lambda one: acp_session_elicitation.message(one, "s1"),
    "older list": lambda one: mcp_input_list.message(one, "sealed"),
}


@pytest.mark.parametrize("said", EVERYTHING)
@pytest.mark.parametrize("name", PARAMS)
def test_t9_no_message_carries_who_the_user_is_or_what_was_kept(said: str, name: str):
    for status in OPEN_ONES:
        asked = body(name, status, **PRIVATE, result={"connection": CANARY})
        if asked["kind"] != "form":
            asked["params"] = {"provider": CANARY, "description": CANARY, "url": f"https://{CANARY}.test"}
        text = json.dumps(EVERYTHING[said](asked))
        assert CANARY not in text
        assert text.count(URL) == 1


@pytest.mark.parametrize("said", ["mcp-2025-11-25", "acp", "ahp"])
@pytest.mark.parametrize("name", PARAMS)
def test_t9_what_is_said_of_the_end_carries_no_result_but_a_forms_answers(said: str, name: str):
    for status in sorted(TERMINAL):
        kept = {"connection": CANARY, "fields": {"key": CANARY}}
        text = json.dumps(EVERYTHING[said](body(name, status, **PRIVATE, result=kept)))
        assert CANARY not in text
        assert URL not in text
        assert ID in text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=6))
def test_t9_whatever_the_user_is_called_the_messages_are_the_same(sub: str):
    for build in EVERYTHING.values():
        assert build(body(subject={"iss": sub, "sub": sub})) == build(body())
