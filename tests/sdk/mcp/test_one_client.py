"""A transport without sessions, such as stdio, has one client: it is told once, however often it calls meanwhile."""

from __future__ import annotations

import anyio.to_thread
import pytest
from mcp.server.mcpserver import MCPServer

from elicit_flows.sdk.mcp import McpFlows
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.clients import LEGACY, Host, talking, text
from tests.support.process import until

pytestmark = pytest.mark.anyio


async def test_it_hears_once_that_the_user_is_through(elicit_box: Service, alice: ScriptedUser) -> None:
    async with elicit_box.elicit() as elicit:
        app, host = MCPServer("one"), Host()

        @app.tool()
        @McpFlows(elicit, user=alice.claim, hold=0.3).confirm("May I tell once?")
        async def tell() -> str:
            return "done: told"

        async with talking(app, LEGACY, host) as client:
            for _ in range(2):
                assert text(await client.call_tool("tell", {})).startswith("waiting:")
            alice.submit(host.links[0])
            await anyio.to_thread.run_sync(until, lambda: host.completed, "the client hears of it")
            assert text(await client.call_tool("tell", {})) == "done: told"
        assert host.completed == [host.links[0].rpartition("/")[2]]
