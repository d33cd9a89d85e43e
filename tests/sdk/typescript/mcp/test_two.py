"""A server on ``@modelcontextprotocol/server`` 2.x, in both eras: what holds for a server in Python holds here.

The tests are those of tests/sdk/mcp; only the server is another.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Legacy, Modern, text
from tests.sdk.mcp.test_cases import (  # noqa: F401
    _nothing_ran_before,
    elicit,
    knowing,
    link,
    link_in,
    name_in,
    strict,
    test_a_hook_runs_before_the_tool_and_words_can_be_its_own,
    test_a_refusal_of_the_authors_own_reaches_a_client_of_the_older_era,
    test_a_tool_that_answers_with_no_text_has_its_schema_and_says_no_by_an_error,
    test_an_account_that_was_given_up_before_the_call_came_back_is_asked_for_again,
    test_case_1_what_is_pushed_has_its_four_members_and_an_id_of_its_own,
    test_case_2_and_7_a_refusal_names_all_that_is_needed_and_a_plain_retry_succeeds_afterwards,
    test_case_3_a_client_that_opens_no_links_gets_it_in_words,
    test_case_3_or_the_call_is_refused,
    test_case_4_what_a_client_can_is_read_from_each_request,
    test_case_6_within_a_call_it_comes_before_the_answer,
    test_case_8_called_again_it_is_the_same_question_until_that_expires,
    test_case_9_the_call_is_answered_with_what_is_needed,
    test_case_10_a_refusal_of_the_older_era_never_reaches_a_client_of_the_newer,
    test_case_16_sent_twice_at_once_it_runs_once,
    test_case_16_the_last_retry_sent_again_runs_nothing_again,
    test_case_19_a_no_in_the_client_ends_it,
    test_case_19_a_no_on_the_page_ends_it,
    test_l_3_who_is_through_before_the_client_answers_is_not_missed,
    test_l_8_what_was_connected_in_one_session_is_not_asked_for_in_another,
    test_of_the_same_user_both_eras_ask_the_same_question,
    test_two_guards_are_asked_one_after_the_other,
    test_what_was_done_of_two_is_not_asked_again,
)
from tests.sdk.mcp.test_outcomes import mark
from tests.sdk.mcp.test_servers import test_the_address_that_its_tokens_are_for_tells_a_server_too  # noqa: F401
from tests.sdk.mcp.vendors.peer import Peer
from tests.sdk.typescript.mcp.conftest import Built
from tests.sdk.typescript.mcp.test_outcomes import many  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    """For alice alone, for whom a call waits as long as a slow machine may need."""
    return new_tools(settings={"hold": 20, "ask_again_after": 0})


@pytest.fixture(scope="module")
def program(built: Built) -> list[str]:
    return built.program(2)


def test_a_client_that_can_more_or_less_than_it_declares_is_known_by_its_name(knowing: Tools) -> None:  # noqa: F811
    """But the SDK lets nobody be asked in the newer era who has not declared it in the request."""
    shy, boastful = Legacy(knowing.url, {}, name="shy"), Legacy(knowing.url, name="boastful")
    shy.call("wipe", {"disk": "shy"}, action="cancel")
    assert text(boastful.call("wipe")).startswith("waiting:")
    assert text(Legacy(knowing.url, {}, name="constructor").call("wipe")).startswith("waiting:")
    assert (len(shy.asked), len(boastful.asked)) == (1, 0)
    modern = Modern(knowing.url)
    assert text(modern.call("wipe", name="boastful")).startswith("waiting:")
    assert text(modern.call("wipe", can={}, name="shy")).startswith("waiting:")
    assert link(modern.call("wipe", name="shy"))


# What a client carries.


def test_t157_a_state_that_was_changed_or_is_anothers_goes_nowhere(
    many: Tools,  # noqa: F811
    alice: ScriptedUser,
) -> None:
    modern, disk = Modern(many.url, "alice"), {"disk": "state"}
    asked = modern.call("wipe", disk)
    state = asked["result"]["requestState"]
    assert name_in(link(asked)) not in state
    alice.submit(link(asked))
    for at in (0, len(state) // 2, len(state) - 2):
        flipped = state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :]
        assert mark(modern.retry(asked, "wipe", disk, requestState=flipped))["reason"] == "bad_state"
    for tool, arguments in (("burn", disk), ("wipe", {"disk": "another"})):
        assert mark(modern.retry(asked, tool, arguments))["reason"] == "bad_state"
    for other in ("bob", "alice elsewhere"):
        assert mark(Modern(many.url, other).retry(asked, "wipe", disk))["reason"] == "bad_state"
    assert many.ran == []
    assert text(modern.retry(asked, "wipe", disk)) == "done: wiped state"


def test_case_15_another_process_takes_the_state(new_tools: Callable[..., Tools], alice: ScriptedUser) -> None:
    one, other = new_tools(), new_tools()
    asked = Modern(one.url).call("wipe", {"disk": "twin"})
    alice.submit(link(asked))
    assert text(Modern(other.url).retry(asked, "wipe", {"disk": "twin"})) == "done: wiped twin"
    assert (one.ran, other.ran) == ([], ["wiped twin"])


def test_case_20_what_is_missing_is_asked_again_and_what_is_no_answer_is_refused(tools: Tools) -> None:
    modern, disk = Modern(tools.url), {"disk": "missing"}
    asked = modern.call("wipe", disk)
    for given in ({}, {"inputResponses": {}}, {"inputResponses": {"another": {"action": "accept"}}}):
        again = modern.call("wipe", disk, requestState=asked["result"]["requestState"], **given)
        assert link(again) == link(asked)
    given = {name_in(link(asked)): {"action": "perhaps"}}
    answer = modern.retry(asked, "wipe", disk, inputResponses=given)
    assert mark(answer) == {"outcome": "refused", "reason": "bad_answer"}


def test_an_older_client_without_a_session_gets_the_link_in_words(
    calling: Callable[..., Peer], new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    """As ``createMcpHandler`` of 2.x serves the older era by itself."""
    stateless = new_tools(stateless=True)
    peer = calling("typescript-2-older", stateless.url, tool="wipe", arguments={"disk": "stateless"})
    said = peer.answer()
    assert said.startswith("waiting:")
    alice.submit(link_in(said))
    again = calling("typescript-2-older", stateless.url, tool="wipe", arguments={"disk": "stateless"})
    assert again.answer() == "done: wiped stateless"
