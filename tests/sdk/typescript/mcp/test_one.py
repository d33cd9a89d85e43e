"""A server on ``@modelcontextprotocol/sdk`` 1.x, which knows the older era alone: what holds in Python holds here.

The tests are those of tests/sdk/mcp; only the server is another.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Modern
from tests.sdk.mcp.test_cases import (  # noqa: F401
    _nothing_ran_before,
    elicit,
    knowing,
    strict,
    test_a_client_that_can_more_or_less_than_it_declares_is_known_by_its_name,
    test_a_hook_runs_before_the_tool_and_words_can_be_its_own,
    test_a_refusal_of_the_authors_own_reaches_a_client_of_the_older_era,
    test_a_tool_that_answers_with_no_text_has_its_schema_and_says_no_by_an_error,
    test_case_1_what_is_pushed_has_its_four_members_and_an_id_of_its_own,
    test_case_2_and_7_a_refusal_names_all_that_is_needed_and_a_plain_retry_succeeds_afterwards,
    test_case_3_a_client_that_opens_no_links_gets_it_in_words,
    test_case_3_or_the_call_is_refused,
    test_case_6_within_a_call_it_comes_before_the_answer,
    test_case_8_called_again_it_is_the_same_question_until_that_expires,
    test_case_19_a_no_in_the_client_ends_it,
    test_case_19_a_no_on_the_page_ends_it,
    test_l_3_who_is_through_before_the_client_answers_is_not_missed,
    test_two_guards_are_asked_one_after_the_other,
)
from tests.sdk.typescript.mcp.conftest import Built

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


@pytest.fixture(params=[False], ids=["older"])
def newer(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    """For alice alone, for whom a call waits as long as a slow machine may need."""
    return new_tools(settings={"hold": 20, "ask_again_after": 0})


@pytest.fixture(scope="module")
def program(built: Built) -> list[str]:
    return built.program(1)


def test_it_is_a_library_that_does_not_know_the_newer_era(tools: Tools) -> None:
    modern = Modern(tools.url)
    assert "error" in modern.call("plain")
    assert modern.status == 400
