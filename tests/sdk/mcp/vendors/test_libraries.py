"""What a call says, and whose an answer is, on ``mcp`` 1.30 and on FastMCP 4: as on ``mcp`` 2."""

from __future__ import annotations

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp import test_outcomes
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.test_cases import _nothing_ran_before  # noqa: F401
from tests.sdk.mcp.test_outcomes import (  # noqa: F401
    EVERY,
    forgetful,
    lost,
    test_a_client_that_wants_to_know_hears_that_the_call_goes_on,
    test_all_guards_of_a_call_share_its_time,
    test_t142_a_service_that_is_away_is_said_without_its_address,
    test_t142_neither_is_what_a_tool_asks_of_it_itself,
    test_the_second_of_two_calls_with_one_answer_is_told_not_to_call_again,
    test_what_runs_has_no_mark,
    test_who_declined_is_not_asked_again_by_the_same_call_for_a_while,
    tools,
)
from tests.sdk.mcp.test_servers import (  # noqa: F401
    crm,
    payroll,
    test_a_name_in_the_settings_is_the_servers,
    test_t122_a_server_without_a_name_asks_nobody_until_it_has_one,
    test_t122_a_yes_to_one_server_runs_no_other_servers_tool,
    test_t122_another_client_of_the_same_user_is_asked_anew,
    test_two_processes_of_one_server_ask_the_same_question,
)

pytestmark = pytest.mark.slow

# Library, and whether the client is of the newer era, which ``mcp`` 1 does not know.
LIBRARIES = {"mcp-1": ("mcp_1", False), "fastmcp-older": ("fastmcp_4", False), "fastmcp-newer": ("fastmcp_4", True)}


@pytest.fixture(scope="module", params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> tuple[str, bool]:
    return LIBRARIES[request.param]


@pytest.fixture(scope="module")
def python(request: pytest.FixtureRequest, library: tuple[str, bool]) -> str:
    return str(request.getfixturevalue(library[0]))


def pairs(outcome: int) -> pytest.MarkDecorator:
    """Of three outcomes, each tool with one library: so each library has every tool, and two tools of each outcome.

    ``mcp`` 2 has every tool with every outcome.
    """
    libraries = list(LIBRARIES)
    drawn = [(libraries[(place + outcome) % len(libraries)], tool) for place, tool in enumerate(EVERY)]
    return pytest.mark.parametrize(("library", "tool"), drawn, indirect=["library"])


@pairs(0)
def test_a_program_reads_that_it_waits(tools: Tools, newer: bool, tool: str) -> None:  # noqa: F811
    test_outcomes.test_a_program_reads_that_it_waits_whatever_the_tool_gives(tools, newer, tool)


@pairs(1)
def test_a_program_reads_that_it_was_declined(
    forgetful: Tools,  # noqa: F811
    alice: ScriptedUser,
    newer: bool,
    tool: str,
) -> None:
    test_outcomes.test_a_program_reads_that_it_was_declined_whatever_the_tool_gives(forgetful, alice, newer, tool)


@pairs(2)
def test_a_program_reads_that_it_was_taken_back(tools: Tools, newer: bool, tool: str) -> None:  # noqa: F811
    test_outcomes.test_a_program_reads_that_it_was_taken_back(tools, newer, tool)


@pytest.fixture
def newer(library: tuple[str, bool]) -> bool:
    return library[1]
