"""What users give is put where the file says, and comes back to no client. The gateway is on HTTP, as is one server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import types

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.gateway.conftest import DISK, Behind
from tests.sdk.mcp.clients import LEGACY, Host, every_era, talking, text
from tests.sdk.mcp.conftest import Server

pytestmark = pytest.mark.anyio

WAITING = "Waiting for the user."
TWO = (
    """
[listen]
port = <port>
"""
    + DISK
    + """
[[servers.disk.tools.environment]]
ask = "oauth"
provider = "acme"
env = "ACME_TOKEN"

[servers.web]
url = "<web>"

[[servers.web.tools.use]]
ask = "oauth"
provider = "acme"
argument = "token"

[[servers.web.tools.use]]
ask = "form"
message = "Which plan?"
schema = { type = "object", properties = { plan = { type = "string", enum = ["free", "pro"] } }, required = ["plan"] }
argument = { plan = "plan" }

[[servers.web.tools.headers]]
ask = "oauth"
provider = "acme"
header = "Authorization"
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def gateway(elicit_box: Service, folder: Path) -> Iterator[Server]:
    def web(port: int) -> list[str]:
        return [sys.executable, "-m", "tests.sdk.gateway.behind", str(port)]

    def guard(port: int) -> list[str]:
        file = Behind(elicit_box, folder, TWO.replace("<port>", str(port)).replace("<web>", behind.url)).file
        return [sys.executable, "-m", "elicit_flows.sdk.cli", "guard", "--config", str(file)]

    behind = Server(elicit_box, folder / "web.log", web, BEHIND=str(folder / "ran"))
    made = Server(elicit_box, folder / "log", guard)
    try:
        behind.start()
        yield made.start()
    finally:
        made.process.stop()
        behind.process.stop()


@pytest.mark.slow
@every_era
async def test_t182_a_token_reaches_the_server_and_no_client(
    gateway: Server, elicit_box: Service, folder: Path, alice: ScriptedUser, era: str
) -> None:
    def do(url: str) -> None:
        alice.open(url)
        if "Which plan?" in alice.page.text:
            alice.submit(url, plan="pro")
        else:
            alice.allow(url)

    (folder / "ran").write_text("")
    async with talking(gateway.url, era, Host(do)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"disk_look", "web_look"} <= tools.keys(), "both have it"
        assert set(tools["web_use"].input_schema["properties"]) == {"what"}
        forged, told = {"what": "it", "token": "forged", "plan": "forged"}, []

        async def tell(done: float, total: float | None, message: str | None) -> None:
            told.append(message)

        used = await client.call_tool("web_use", forged, progress_callback=tell)
        assert text(used) == 'with [removed] as {"token": "[removed]"}'
        assert "With [removed]." in told
        assert not [one for one in told if one not in ("With [removed].", WAITING)]
        assert text(await client.call_tool("web_headers", {})) == "seen"
        seen = (await client.call_tool("disk_environment", {})).structured_content
        assert seen["ACME_TOKEN"] == "[removed]"
        assert "ELICIT_API_KEY" not in seen
    ran = (folder / "ran").read_text().splitlines()
    with elicit_box.sync_elicit() as elicit:
        [account] = [one for one in elicit.connections(alice.claim, provider="acme") if one.status == "active"]
        token = elicit.token(account).access_token
    assert ran == [f"used it {token} pro", f"headers Bearer {token}"]
    assert token not in (folder / "log").read_text()
    assert "forged" not in (folder / "ran").read_text()


@pytest.mark.slow
async def test_what_a_program_says_of_itself_reaches_a_client_on_http(gateway: Server) -> None:
    heard = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    async with talking(gateway.url, LEGACY, message_handler=hear) as client:
        await client.list_tools()
        assert text(await client.call_tool("disk_grow", {})) == "grown"
        async with asyncio.timeout(30):
            await heard.wait()
