"""A7: on FastMCP a hidden tool, which the library takes without complaint, breaks every list of tools."""

from __future__ import annotations

from collections.abc import Callable

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Legacy
from tests.sdk.mcp.vendors.conftest import fastmcp_4

__all__ = ["fastmcp_4"]


def test_l_12_a_tool_is_hidden_until_its_account_is_connected_and_again_when_it_is_given_up(
    new_tools: Callable[..., Tools], fastmcp_4: str, alice: ScriptedUser
) -> None:
    session = Legacy(new_tools(python=fastmcp_4, hidden=True).url)
    answer = session.request("tools/list")
    assert "result" in answer, answer
    assert "plain" in {tool["name"] for tool in answer["result"]["tools"]}
