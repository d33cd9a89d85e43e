"""Calls of the newer era that end before their user has finished: as in Python."""

from __future__ import annotations

import pytest

from tests.sdk.mcp.test_cases import (  # noqa: F401
    _nothing_ran_before,
    elicit,
    test_case_17_an_accept_without_a_visit_comes_to_nothing,
    test_case_18_a_client_that_hangs_up_meanwhile_loses_nothing,
    test_case_18_a_retry_that_is_early_waits_a_while_and_asks_nobody_again,
    test_case_18_it_ends_before_clients_give_up_and_the_question_stays,
)
from tests.sdk.typescript.mcp.conftest import Built
from tests.sdk.typescript.mcp.test_waiting import tools  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


@pytest.fixture(scope="module")
def program(built: Built) -> list[str]:
    return built.program(2)
