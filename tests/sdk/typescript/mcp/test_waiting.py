"""Calls that end before their user has finished, on both majors and in both eras: as in Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.test_cases import (  # noqa: F401
    _nothing_ran_before,
    elicit,
    test_case_5_to_agree_to_open_a_link_is_not_to_have_done_it,
    test_case_6_the_notification_comes_once_and_only_to_who_was_asked,
    test_case_8_a_call_that_comes_again_asks_and_waits_like_the_first,
)
from tests.sdk.typescript.mcp.conftest import Built

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


@pytest.fixture(scope="module", params=[1, 2])
def program(request: pytest.FixtureRequest, built: Built) -> list[str]:
    return built.program(request.param)


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools(settings={"hold": 3, "rounds": 4, "ask_again_after": 0})
