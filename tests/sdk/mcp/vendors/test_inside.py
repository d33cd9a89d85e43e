"""Questions from inside a tool on ``mcp`` 1.30 and FastMCP 4, and FastMCP's prompts and resources: as on ``mcp`` 2."""

from __future__ import annotations

import pytest

from tests.sdk.mcp.test_inside import (  # noqa: F401
    _nothing_ran_before,
    answers,
    test_a_confirm_marks_its_tool_as_destructive,
    test_a_guard_asks_what_the_one_above_it_brought,
    test_a_no_inside_ends_the_call_and_the_rest_does_not_run,
    test_a_tool_looks_then_asks_twice_and_runs_once,
    test_a_tool_that_wants_the_no_gets_it,
    test_a_tool_without_a_guard_is_told_to_get_one,
    test_the_same_call_goes_on_where_it_was_without_a_state_too,
    tools,
)
from tests.sdk.mcp.vendors.test_libraries import library, newer, python  # noqa: F401

pytestmark = pytest.mark.slow
