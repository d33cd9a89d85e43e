"""The gateway on stdio, before a server on stdio, by the library's client in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from elicit_flows.sdk.cli import main
from elicit_flows.sdk.mcp.messages import MARK
from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.gateway.conftest import DISK, Behind
from tests.sdk.mcp.clients import MODERN, Host, every_era, talking, text

pytestmark = pytest.mark.anyio

ONE = (
    DISK
    + """
[[servers.disk.tools.wipe]]
ask = "confirm"
message = "Wipe {path}?"
"""
)


@every_era
async def test_t181_a_guarded_tool_runs_under_its_own_name_once_its_user_said_yes(
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
        with pytest.raises(MCPError, match="Unknown tool: WIPE"):
            await client.call_tool("WIPE", {"path": "t181"})
        host.then = alice.decline
        assert text(await client.call_tool("wipe", {"path": f"{era} b"})).startswith("declined:")
        assert gateway.ran == []
        async with asyncio.timeout(30):
            steps: list[float] = []
            await client.call_tool("slow", {"steps": 3}, progress_callback=lambda done, total, text: heard(steps, done))
        assert steps == [0, 1, 2]
        assert gateway.ran == ["slow began", "slow ended"]
        calling = asyncio.ensure_future(client.call_tool("slow", {"steps": 1000}))
        await found(gateway, "slow began")
        calling.cancel()
        await found(gateway, "slow cancelled")


async def heard(steps: list[float], done: float) -> None:
    steps.append(done)


async def found(gateway: Behind, line: str) -> None:
    async with asyncio.timeout(30):
        while line not in gateway.ran:
            await asyncio.sleep(0.05)


@every_era
@pytest.mark.slow
async def test_a_call_whose_user_is_busy_survives_a_restart(
    behind: Callable[..., Behind], alice: ScriptedUser, era: str
) -> None:
    gateway, again = behind(ONE, "[settings]\nhold = 0.1\n"), {"path": f"restart {era}"}
    options = {"allow_input_required": True} if era == MODERN else {}
    async with talking(gateway.started, era, Host()) as client:
        first = await client.session.call_tool("wipe", again, **options)
        state = getattr(first, "request_state", None)
        link = next(iter(first.input_requests.values())).params.url if state else first.meta[MARK]["url"]
    alice.submit(link)
    async with talking(gateway.started, era, Host()) as client:
        if state:
            answer = {next(iter(first.input_requests)): ElicitResult(action="accept")}
            options |= {"request_state": state, "input_responses": answer}
        assert text(await client.session.call_tool("wipe", again, **options)) == f"done: wiped restart {era}"
    assert gateway.ran == [f"wiped restart {era}"]


@pytest.mark.slow
def test_t181_a_guard_of_a_tool_that_is_not_there_is_refused_at_the_start(
    behind: Callable[..., Behind], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ELICIT_API_KEY", "key-of-the-tests")
    file = str(behind(ONE.replace("tools.wipe", "tools.wype")).file)
    assert main(["guard", "--check", "--config", file]) == 1
    assert (
        "servers.disk.tools.wype: The server lists no such tool, but aside, asks, environment, grow"
        in capsys.readouterr().err
    )
