"""Guards in TypeScript that ask all at once (``new McpFlows(server, { together: true })``).

The tests are those of tests/sdk/mcp; only the server is another, on 2.x, which knows both eras.
"""

from __future__ import annotations

import pytest

from tests.sdk.mcp.test_cases import _nothing_ran_before  # noqa: F401
from tests.sdk.mcp.test_together import (  # noqa: F401
    test_a_client_that_opens_no_links_gets_all_of_them_in_words,
    test_a_no_ends_the_call_while_the_other_is_waited_for,
    test_a_no_in_the_client_takes_the_other_back,
    test_a_no_to_one_takes_the_other_back,
    test_a_refusal_of_the_older_era_names_all,
    test_a_yes_beside_a_no_is_kept_for_the_next_call,
    test_both_are_asked_in_one_answer_and_their_outcomes_come_in_the_guards_order,
    test_in_the_older_era_both_are_pushed_before_one_is_answered,
    test_with_one_guard_it_changes_nothing,
    tools,
)
from tests.sdk.typescript.mcp.conftest import Built

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


@pytest.fixture(scope="module")
def program(built: Built) -> list[str]:
    return built.program(2)
