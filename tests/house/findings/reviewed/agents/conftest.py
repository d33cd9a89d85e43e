"""The fixtures of the SDK's tests, and MCP servers that run server.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from elicit_flows.sdk.testing import Service
from tests.sdk.conftest import alice, anyio_backend, bob, elicit, elicit_box, elicit_service, elicit_user, service
from tests.sdk.mcp.conftest import Server, Tools, _hung_up, servers
from tests.sdk.mcp.test_cases import newer

__all__ = [
    "_hung_up",
    "alice",
    "anyio_backend",
    "bob",
    "elicit",
    "elicit_box",
    "elicit_service",
    "elicit_user",
    "newer",
    "servers",
    "service",
]


@pytest.fixture(scope="module")
def new_tools(
    elicit_box: Service, servers: list[Server], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Tools]:
    def make(**told: Any) -> Tools:
        tools = Tools(elicit_box, tmp_path_factory.mktemp("mcp"), **told)
        tools.process.command = [*tools.process.command[:2], "tests.reviewed.agents.server"]
        servers.append(tools)
        return tools.start()

    return make
