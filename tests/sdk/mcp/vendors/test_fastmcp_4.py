"""A server that runs FastMCP 4: what holds on ``mcp`` 2, below it, holds here, in both eras.

It cannot carry one thing: of the older era's refusal -32042 it makes a tool's error without the links. The guards put
the links into the words of that error, where a client or its model finds them; the code is lost.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Legacy, Modern, events, http, text
from tests.sdk.mcp.test_cases import (  # noqa: F401
    _nothing_ran_before,
    link,
    strict,
    test_a_hook_runs_before_the_tool_and_words_can_be_its_own,
    test_a_tool_that_answers_with_no_text_has_its_schema_and_says_no_by_an_error,
    test_case_1_what_is_pushed_has_its_four_members_and_an_id_of_its_own,
    test_case_3_a_client_that_opens_no_links_gets_it_in_words,
    test_case_3_or_the_call_is_refused,
    test_case_4_what_a_client_can_is_read_from_each_request,
    test_case_6_within_a_call_it_comes_before_the_answer,
    test_case_9_the_call_is_answered_with_what_is_needed,
    test_case_10_a_refusal_of_the_older_era_never_reaches_a_client_of_the_newer,
    test_case_12_a_state_that_was_tampered_with_is_refused_in_one_sentence,
    test_case_14_a_state_belongs_to_one_tool_and_its_arguments,
    test_case_16_the_last_retry_sent_again_runs_nothing_again,
    test_case_18_a_retry_that_is_early_waits_a_while_and_asks_nobody_again,
    test_case_19_a_no_in_the_client_ends_it,
    test_case_19_a_no_on_the_page_ends_it,
    test_case_20_what_is_missing_is_asked_again_and_what_is_malformed_is_refused,
    test_two_guards_are_asked_one_after_the_other,
    tools,
)
from tests.sdk.mcp.test_listing import (  # noqa: F401
    elicit,
    test_l_12_a_tool_is_hidden_until_its_account_is_connected_and_again_when_it_is_given_up,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(fastmcp_4: str) -> str:
    return fastmcp_4


def test_a_refusal_is_said_in_words_that_have_all_its_links(
    new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    refusing = new_tools(settings={"push": False})
    session = Legacy(refusing.url)
    answer = session.call("both")
    assert answer["result"]["isError"] is True
    said = text(answer)
    assert said.startswith("waiting:")
    form, confirm = (word.strip(",") for word in said.split() if word.startswith("http"))
    alice.submit(form, plan="pro")
    alice.submit(confirm)
    assert text(session.call("both")) == "done: form confirm"
    assert refusing.ran == ["form confirm"]


def test_so_is_one_of_the_authors_own(tools: Tools, alice: ScriptedUser) -> None:  # noqa: F811
    answer = Legacy(tools.url).call("raises", then=alice.submit)
    assert answer["result"]["isError"] is True
    assert "https://elsewhere.test/x" in text(answer)


def test_two_processes_take_each_others_state_with_a_key_that_both_have(
    new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    one, other = new_tools(), new_tools()
    asked = Modern(one.url).call("wipe", {"disk": "balanced"})
    alice.submit(link(asked))
    assert text(Modern(other.url).retry(asked, "wipe", {"disk": "balanced"})) == "done: wiped balanced"
    apart = [new_tools(security=False) for _ in range(2)]
    asked = Modern(apart[0].url).call("wipe", {"disk": "apart"})
    modern = Modern(apart[1].url)
    assert modern.retry(asked, "wipe", {"disk": "apart"})["error"]["code"] == -32602
    assert modern.status == 400


def test_tasks_are_refused_in_a_sentence(new_tools: Callable[..., Tools]) -> None:
    tasked = new_tools(tasks=True)
    error = Modern(tasked.url).request("server/discover", {})["error"]
    assert error["message"].startswith("McpFlows.tasks() needs the MCPServer of the library mcp.")
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    [answer] = events(http("").post(tasked.url, json=body))
    assert answer["error"]["message"] == error["message"]
    assert error["message"] in tasked.process.output()
