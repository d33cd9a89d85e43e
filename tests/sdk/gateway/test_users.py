"""One gateway on HTTP for several people, whom their access tokens name. The certified provider signs them in."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from elicit_flows.sdk.gateway.gateway import _key
from elicit_flows.sdk.gateway.wire import CAPABILITIES_META, CLIENT_META
from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.gateway.conftest import DISK, filled
from tests.sdk.mcp.clients import LEGACY, Host, every_era, talking, text
from tests.sdk.mcp.conftest import Server
from tests.sdk.mcp.test_signed_in import Desk, agent, signing_in  # noqa: F401
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.op import Op

pytestmark = pytest.mark.anyio

FILE = (
    """
name = "gateway for several"
[service]
url = "<service>"
[listen]
port = <port>
issuer = "<issuer>"
resource = "http://127.0.0.1:<port>/mcp"
"""
    + DISK
    + """
[[servers.disk.tools.wipe]]
ask = "confirm"
message = "Wipe {path}?"

[servers.apart.sign_in]
issuer = "<issuer>"
resource = "http://127.0.0.1:<port>/mcp/apart"
"""
    + DISK.replace("disk", "apart")
    + """
[[servers.apart.tools.wipe]]
ask = "confirm"
message = "Wipe {path}, apart?"

[servers.lead]
prefix = true
sign_in = { user = { iss = "<issuer>", sub = "bob" } }
"""
    + DISK.replace("[servers.disk]", "")
    + """
[[servers.lead.tools.wipe]]
ask = "confirm"
message = "May they wipe {path}?"
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def gateway(agent: AgentClient, embedded_box: Box, corp_server: Op, folder: Path) -> Iterator[Server]:  # noqa: F811
    told = {"<service>": embedded_box.url, "<issuer>": corp_server.issuer}

    def guard(port: int) -> list[str]:
        text = filled(FILE, folder / "ran")
        for mark, value in (told | {"<port>": str(port)}).items():
            text = text.replace(mark, value)
        (folder / "guard.toml").write_text(text)
        return [sys.executable, "-m", "elicit_flows.sdk.cli", "guard", "--config", str(folder / "guard.toml")]

    service = SimpleNamespace(url=embedded_box.url, api_key=agent.api_key, sandbox_url="http://127.0.0.1:9")
    server = Server(service, folder / "log", guard)
    corp_server.change(resources=[server.url, f"{server.url}/apart"], jwt_access_tokens=True)
    try:
        yield server.start()
    finally:
        server.process.stop()
        corp_server.reset()


@pytest.mark.slow
@every_era
async def test_t209_one_users_yes_and_process_are_none_of_anothers(
    gateway: Server, corp_server: Op, new_http_user: Callable[..., HttpUser], folder: Path, era: str
) -> None:
    (folder / "ran").write_text("")
    clients, people = {}, {name: ScriptedUser(corp_server.issuer, name) for name in ("alice", "bob")}
    hosts = {"alice": Host(people["alice"].submit), "bob": Host(people["bob"].decline)}
    async with AsyncExitStack() as ends:
        for name, host in hosts.items():
            auth = signing_in(gateway.url, new_http_user(), name)
            http = await ends.enter_async_context(httpx2.AsyncClient(auth=auth, trust_env=False, timeout=60))
            there = streamable_http_client(gateway.url, http_client=http)
            clients[name] = await ends.enter_async_context(talking(there, era, host))
        assert text(await clients["alice"].call_tool("wipe", {"path": era})) == f"done: wiped {era}"
        assert text(await clients["bob"].call_tool("wipe", {"path": era})).startswith("declined: ")
        assert text(await clients["alice"].call_tool("process")) != text(await clients["bob"].call_tool("process"))
    assert (folder / "ran").read_text().splitlines() == [f"wiped {era}"]
    assert len(hosts["alice"].links) == len(hosts["bob"].links) == 1
    for person in people.values():
        person.close()


@asynccontextmanager
async def signed_in(url: str, person: HttpUser, name: str, era: str, host: Host) -> AsyncIterator[tuple[Client, Desk]]:
    """A client that has signed in at the gateway, and what it keeps."""
    auth = signing_in(url, person, name)
    async with (
        httpx2.AsyncClient(auth=auth, trust_env=False, timeout=60) as http,
        talking(streamable_http_client(url, http_client=http), era, host) as client,
    ):
        yield client, auth.context.storage


@pytest.mark.slow
@every_era
async def test_t209_a_token_for_one_servers_address_is_none_for_anothers(
    gateway: Server, corp_server: Op, new_http_user: Callable[..., HttpUser], folder: Path, era: str
) -> None:
    (folder / "ran").write_text("")
    alice, person, statuses = ScriptedUser(corp_server.issuer, "alice"), new_http_user(), {}
    addresses = [gateway.url, f"{gateway.url}/apart"]
    for url in addresses:
        async with signed_in(url, person, "alice", era, Host(alice.submit)) as (client, desk):
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert ("wipe" in names, "lead_wipe" in names) == (True, url == gateway.url)
            if url != gateway.url:
                assert text(await client.call_tool("wipe", {"path": era})) == f"done: wiped {era}"
            assert desk.tokens is not None
            headers = {"authorization": f"Bearer {desk.tokens.access_token}", "accept": "application/json"}
        async with httpx2.AsyncClient(trust_env=False) as http:
            for other in addresses:
                statuses[url, other] = (await http.post(other, json={}, headers=headers)).status_code
    assert {(a == b): status == httpx2.codes.UNAUTHORIZED for (a, b), status in statuses.items()} == {
        True: False,
        False: True,
    }
    assert (folder / "ran").read_text().splitlines() == [f"wiped {era}"]
    alice.close()


@pytest.mark.slow
async def test_a_server_with_a_user_of_its_own_asks_that_one_whoever_calls(
    gateway: Server, corp_server: Op, new_http_user: Callable[..., HttpUser], folder: Path
) -> None:
    (folder / "ran").write_text("")
    alice, bob = (ScriptedUser(corp_server.issuer, name) for name in ("alice", "bob"))
    host = Host(bob.submit)
    async with signed_in(gateway.url, new_http_user(), "alice", LEGACY, host) as (client, _):
        assert text(await client.call_tool("lead_wipe", {"path": "bobs"})) == "done: wiped bobs"
    alice.open(host.links[0])
    assert "submit" not in alice.page.forms, "the link is not hers"
    assert (folder / "ran").read_text().splitlines() == ["wiped bobs"]
    for one in (alice, bob):
        one.close()


@pytest.mark.slow
async def test_t209_without_a_token_or_with_one_of_another_nobody_is_served(gateway: Server) -> None:
    async with httpx2.AsyncClient(trust_env=False) as http:
        for headers in ({}, {"authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."}):
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            answer = await http.post(gateway.url, json=asked, headers=headers)
            assert answer.status_code == httpx2.codes.UNAUTHORIZED


def test_t209_users_of_the_same_client_program_share_no_connection() -> None:
    about = {CLIENT_META: {"name": "desk"}, CAPABILITIES_META: {}}
    alice, bob = (["https://a.test", name, "desk"] for name in ("alice", "bob"))
    users = (alice, bob, ["https://b.test", "alice", "desk"], [])
    assert len({_key(meta, user, "") for meta in (about, None) for user in users}) == 2 * len(users)
    assert _key(None, alice, "one") != _key(None, alice, "two")
