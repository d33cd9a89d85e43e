"""A server on ``@modelcontextprotocol/sdk`` 1.x, whose tools are guarded by ``elicit-flows/mcp``."""

from __future__ import annotations

import pytest

from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Modern
from tests.sdk.mcp.test_cases import (  # noqa: F401
    _nothing_ran_before,
    elicit,
    test_case_1_what_is_pushed_has_its_four_members_and_an_id_of_its_own,
    tools,
)
from tests.sdk.typescript.mcp.conftest import Built

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


@pytest.fixture(params=[False], ids=["older"])
def newer(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def program(built: Built) -> list[str]:
    return built.program(1)
