"""Prompts and resources of FastMCP 4, and the rounds of a question from inside its tools: as on ``mcp`` 2."""

from __future__ import annotations

import pytest

from tests.sdk.mcp.test_inside import (  # noqa: F401
    _nothing_ran_before,
    answers,
    test_t177_a_state_of_a_call_with_other_arguments_is_refused,
    test_t177_a_yes_to_twelve_files_is_none_to_thirteen,
    test_t177_an_answer_from_inside_runs_the_rest_once,
)
from tests.sdk.mcp.test_prompts import (  # noqa: F401
    test_a_client_that_opens_no_links_gets_it_in_the_error,
    test_it_is_asked_and_then_given_once,
    test_t178_a_yes_to_a_prompt_is_none_to_a_resource_or_tool_of_the_same_function,
    tools,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(fastmcp_4: str) -> str:
    return fastmcp_4
