"""Behind the gateway: three servers that nobody here wrote, two from npm and one from PyPI."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import types
from mcp.shared.exceptions import MCPDeprecationWarning

from elicit_flows.domain.values import Json
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.gateway.conftest import Behind
from tests.sdk.mcp.clients import ERAS, LEGACY, Host, every_era, talking, text
from tests.sdk.mcp.conftest import Server
from tests.support import op
from tests.support.environments import environment

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

THREE = """
[servers.everything]
command = "<node>"
args = ["<modules>/server-everything/dist/index.js"]

[[servers.everything.tools.get-sum]]
ask = "confirm"
message = "Add {a} and {b}?"

[servers.files]
command = "<node>"
args = ["<modules>/server-filesystem/dist/index.js", "<folder>"]

[[servers.files.tools.write_file]]
ask = "confirm"
message = "Write {path}?"
words = { detail = "{content}" }

[servers.time]
command = "<time>"
args = ["-m", "mcp_server_time"]

[[servers.time.tools.get_current_time]]
ask = "confirm"
message = "Tell the time in {timezone}?"
"""


class Person(Host):
    """Says yes to links, and answers what the servers themselves ask. ``updated``: the resources that have changed."""

    def __init__(self, then: Callable[[str], object]) -> None:
        super().__init__(then)
        self.updated: list[str] = []

    async def hear(self, message: Any) -> None:
        await super().hear(message)
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updated.append(str(message.params.uri))

    async def elicit(self, context: Any, params: Any) -> types.ElicitResult:
        if getattr(params, "mode", "form") == "url":
            return await super().elicit(context, params)
        return types.ElicitResult(action="accept", content={"name": "Ada", "check": True})


async def sampled(context: Any, params: Any) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text="sampled by the client")
    return types.CreateMessageResult(role="assistant", content=said, model="none")


@pytest.fixture
def three(tmp_path: Path) -> tuple[str, Path]:
    """The file's servers, and the folder of the one that has files."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("there")
    told = {"<node>": str(op.node()), "<modules>": str(op.PEERS / "node_modules/@modelcontextprotocol")}
    servers = THREE
    for mark, value in {**told, "<folder>": str(folder), "<time>": environment("mcp-servers")}.items():
        servers = servers.replace(mark, value)
    return servers, folder


@every_era
async def test_three_servers_behind_one(
    behind: Callable[..., Behind], three: tuple[str, Path], alice: ScriptedUser, era: str
) -> None:
    servers, folder = three
    gateway, host, steps = behind(servers), Person(alice.submit), []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    async with talking(gateway.started, era, host, sampling_callback=sampled) as client:
        assert text(await client.call_tool("echo", {"message": "hi"})) == "Echo: hi"
        assert text(await client.call_tool("read_text_file", {"path": str(folder / "a.txt")})) == "there"
        assert host.links == []
        asked = await client.call_tool("trigger-elicitation-request", {})
        assert "Ada" in asked.content[1].text
        prompted = await client.call_tool("trigger-sampling-request", {"prompt": "p", "maxTokens": 9})
        assert "sampled by the client" in text(prompted)
        await client.call_tool(
            "trigger-long-running-operation", {"duration": 0.2, "steps": 2}, progress_callback=progress
        )
        assert steps == [1, 2]
        first = (await client.list_resources()).resources[0]
        assert (await client.read_resource(first.uri)).contents
        assert (await client.get_prompt("simple-prompt")).messages
        if era == LEGACY:
            with pytest.warns(MCPDeprecationWarning):  # later revisions have no such request
                await client.subscribe_resource(first.uri)
            await client.call_tool("toggle-subscriber-updates", {})
            async with asyncio.timeout(30):
                while first.uri not in host.updated:
                    await asyncio.sleep(0.05)
        new = folder / f"{era}.txt"
        await client.call_tool("write_file", {"path": str(new), "content": "by yes"})
        assert new.read_text() == "by yes"
        assert "Europe/Paris" in text(await client.call_tool("get_current_time", {"timezone": "Europe/Paris"}))
        assert len(host.links) == 2


@every_era
async def test_a_gateway_killed_while_its_users_think_asks_nothing_twice(
    behind: Callable[..., Behind],
    three: tuple[str, Path],
    elicit_box: Service,
    alice: ScriptedUser,
    tmp_path: Path,
    era: str,
) -> None:
    """The calls are open, one at each server, when the gateway dies. The user answers before it is there again."""
    servers, folder = three
    new = folder / "new.txt"
    calls: dict[str, Json] = {
        "get-sum": {"a": 2, "b": ERAS.index(era)},
        "write_file": {"path": str(new), "content": "by yes"},
        "get_current_time": {"timezone": ["Europe/Paris", "Asia/Tokyo"][ERAS.index(era)]},
    }

    def guard(port: int) -> list[str]:
        file = behind(servers, f"[listen]\nport = {port}\n").file
        return [sys.executable, "-m", "elicit_flows.sdk.cli", "guard", "--config", str(file)]

    gateway, host, later = Server(elicit_box, tmp_path / "log", guard), Host(), Host()
    gateway.start()
    try:
        try:
            async with talking(gateway.url, era, host) as client, asyncio.timeout(60):
                asking = [asyncio.ensure_future(client.call_tool(name, told)) for name, told in calls.items()]
                while len(host.links) < len(calls):
                    await asyncio.sleep(0.05)
                assert not any(one.done() for one in asking)
                gateway.process.kill9()
                await asyncio.wait(asking)
        except* httpx2.TransportError:
            host.part()  # the library's client may end with its connection
        assert not any(one.exception() is None for one in asking if not one.cancelled())
        assert len(host.links) == len(calls)
        for link in host.links:
            alice.submit(link)
        assert not new.exists()
        gateway.start()
        async with talking(gateway.url, era, later) as client:
            said = {name: text(await client.call_tool(name, told)) for name, told in calls.items()}
    finally:
        gateway.process.stop()
    assert later.links == []
    assert new.read_text() == "by yes"
    assert f"is {2 + ERAS.index(era)}" in said["get-sum"]
    assert calls["get_current_time"]["timezone"] in said["get_current_time"]


@every_era
async def test_a_server_on_http_that_others_wrote_is_reached_by_clients_of_both_eras(
    behind: Callable[..., Behind], elicit_box: Service, tmp_path: Path, era: str
) -> None:
    script = str(op.PEERS / "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    web = Server(elicit_box, tmp_path / "log", lambda port: [str(op.node()), script, "streamableHttp"])
    web.process.env["PORT"] = str(web.port)
    web.start()
    steps: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    def guard(port: int) -> list[str]:
        file = behind(f'[servers.everything]\nurl = "{web.url}"\n', f"[listen]\nport = {port}\n").file
        return [sys.executable, "-m", "elicit_flows.sdk.cli", "guard", "--config", str(file)]

    gateway, host = Server(elicit_box, tmp_path / "log of the gateway", guard), Person(lambda url: None)
    gateway.start()
    try:
        async with talking(gateway.url, era, host, sampling_callback=sampled) as client:
            assert await client.list_tools()
            for number in range(3):
                assert text(await client.call_tool("echo", {"message": str(number)})) == f"Echo: {number}"
            asked = await client.call_tool("trigger-elicitation-request", {})
            assert "Ada" in asked.content[1].text
            prompted = await client.call_tool("trigger-sampling-request", {"prompt": "p", "maxTokens": 9})
            assert "sampled by the client" in text(prompted)
            running = {"duration": 0.2, "steps": 2}
            await client.call_tool("trigger-long-running-operation", running, progress_callback=progress)
            assert steps == [1, 2]
    finally:
        gateway.process.stop()
        web.process.stop()
