"""Every tool of the example, in both eras, by the library's own client and a person who uses the pages."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp import StdioServerParameters, stdio_client

from elicit_flows.sdk import ConflictError, Elicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.clients import Host, every_era, talking, text
from tests.sdk.mcp.conftest import Server
from tests.support.environments import environment
from tests.support.process import PROJECT

pytestmark = pytest.mark.anyio


def read_the_terms(user: ScriptedUser, url: str) -> None:
    user.go(url, "continue")
    back = parse_qs(urlsplit(user.url).query)["elicit_return"][0]
    user.open(back)


DOING: dict[str, Callable[[ScriptedUser, str], None]] = {
    "list_files": ScriptedUser.allow,
    "buy_report": ScriptedUser.pay,
    "store_api_key": lambda user, url: user.submit(url, api_key="sk-1"),
    "wipe_files": lambda user, url: user.submit(url, typed="confirm"),
    "choose_plan": lambda user, url: user.submit(url, plan="pro"),
    "accept_terms": read_the_terms,
}


@pytest.mark.slow
@every_era
@pytest.mark.parametrize("tool", DOING)
async def test_it_is_done_when_the_user_has_done_it(
    elicit_service: Service, server: Server, alice: ScriptedUser, era: str, tool: str
) -> None:
    async with Elicit() as elicit:
        for connection in await elicit.connections(alice.claim):
            await elicit.revoke(connection)
        # A no stands for a minute, also one that another module's client has just given to the same tool.
        for status in ("declined", "cancelled"):
            async for one in elicit.elicitations(alice.claim, status=status):
                with suppress(ConflictError):  # it was taken back already
                    await elicit.consume(one)
    host = Host(lambda url: DOING[tool](alice, url))
    async with talking(server.url, era, host) as client:
        assert text(await client.call_tool(tool, {})).startswith("done:")
    assert len(host.links) == 1


def started(service: Service, program: str, *arguments: str) -> StdioServerParameters:
    env = {"ELICIT_URL": service.url, "ELICIT_API_KEY": service.api_key, "SANDBOX_URL": service.sandbox_url}
    return StdioServerParameters(
        command=program,
        args=[*arguments, "--user", service.sandbox_url, "alice"],
        env={**env, "PYTHONPATH": str(PROJECT)},
        cwd=PROJECT,
    )


@every_era
async def test_a_client_starts_it_on_stdio(elicit_service: Service, alice: ScriptedUser, era: str) -> None:
    host = Host(lambda url: alice.submit(url, plan="pro"))
    program = started(elicit_service, sys.executable, "examples/mcp_server.py", "--stdio")
    async with talking(stdio_client(program), era, host) as client:
        assert text(await client.call_tool("choose_plan", {})) == "done: the plan is pro"
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    assert hints["wipe_files"] is not None
    assert hints["wipe_files"].destructive_hint
    assert hints["choose_plan"] is None


@pytest.fixture(scope="session")
def fastmcp_4() -> str:
    return environment("fastmcp-4")


@pytest.mark.slow
@every_era
async def test_that_for_fastmcp_connects_and_looks_and_asks_what_it_found(
    elicit_service: Service, alice: ScriptedUser, fastmcp_4: str, era: str
) -> None:
    async with Elicit() as elicit:
        for connection in await elicit.connections(alice.claim):
            await elicit.revoke(connection)
    asked: list[str] = []

    def agree(url: str) -> None:
        asked.append(url)
        (alice.allow if len(asked) == 1 else alice.submit)(url)

    program = started(elicit_service, fastmcp_4, "examples/fastmcp_server.py")
    async with talking(stdio_client(program), era, Host(agree)) as client:
        before = {tool.name for tool in (await client.list_tools()).tools}
        assert re.fullmatch(r"done: \d+ files are shared", text(await client.call_tool("share_files", {})))
        after = {tool.name for tool in (await client.list_tools()).tools}
    assert (before, after - before) == ({"share_files"}, {"count_files"})
    assert len(asked) == 2
