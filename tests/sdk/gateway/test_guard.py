"""The gateway on stdio, before a server on stdio, by the library's client in both eras."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.gateway.conftest import Behind
from tests.sdk.mcp.clients import ERAS, Host, talking, text

pytestmark = pytest.mark.anyio

ONE = """
[servers.disk]
command = "<python>"
args = ["-m", "tests.sdk.gateway.behind"]
cwd = "<project>"
env = { BEHIND = "<ran>", PYTHONPATH = "<project>" }

[[servers.disk.tools.wipe]]
ask = "confirm"
message = "Wipe {path}?"
"""


@pytest.mark.parametrize("era", ERAS)
async def test_a_guarded_tool_runs_once_its_user_said_yes(
    behind: Callable[..., Behind], alice: ScriptedUser, era: str
) -> None:
    gateway, host = behind(ONE), Host(alice.submit)
    async with talking(gateway.started, era, host) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["wipe"].annotations.destructive_hint
        assert client.instructions == "Be careful."
        assert text(await client.call_tool("look", {})) == "seen"
        assert host.links == []
        assert text(await client.call_tool("wipe", {"path": era})) == f"done: wiped {era}"
        assert len(host.links) == 1
        assert gateway.ran == [f"wiped {era}"]
        host.then = alice.decline
        assert text(await client.call_tool("wipe", {"path": f"{era} b"})).startswith("declined:")
        assert gateway.ran == []
