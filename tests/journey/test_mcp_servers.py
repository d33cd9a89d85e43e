"""A remote MCP server that nobody configured: the vendor's own library, with a certified authorization server. Alice
allows it in a browser, and the agent calls its tools with the vendor's client.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from elicit_flows.sdk import Completed, Elicit, Outcome, SyncElicit
from elicit_flows.sdk.mcp import transport
from tests.cast import ALICE, program
from tests.docs.page import found
from tests.support import box_config
from tests.support.box import Box
from tests.support.browser import User
from tests.support.environments import environment
from tests.support.op import Op
from tests.support.persona import Persona
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, clean_env

pytestmark = pytest.mark.slow

READS, WRITES = "notes.read", "notes.write"
NOTES = "tests.journey.notes_server"
NOTES_MCP = "notes-mcp"
CALLER = program("caller")


@pytest.fixture(scope="module")
def keeper(new_op: Callable[..., Op]) -> Op:
    """The authorization server of the MCP server. Clients register themselves there."""
    return new_op(name="keeper", role="oauth", registration=True, scopes=[READS, WRITES], jwt_access_tokens=True)


@pytest.fixture(scope="module")
def notes(keeper: Op, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the MCP server."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/mcp"
    keeper.change(resources=[address])
    log = tmp_path_factory.mktemp("notes") / "log"
    process = Process([sys.executable, "-m", NOTES, str(port), keeper.issuer], log, cwd=PROJECT)
    process.start()

    def answers() -> bool:
        try:
            return httpx2.post(address, json={}, trust_env=False, timeout=30).status_code == 401
        except httpx2.TransportError:
            return False

    process.wait_until(answers, "the MCP server answers")
    yield address
    process.stop()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def service(new_box: Callable[..., Box], keeper: Op, notes: str) -> Box:
    """A service with an agent that may use every MCP server, and one of them among its providers."""
    box = new_box("embedded")
    row = {"slug": NOTES_MCP, "name": "Notes", "issuer": keeper.issuer, "registration": "dynamic"}
    row |= {"scopes": [READS], "resources": [notes]}
    box.apply({"provider": [row], "agent": [box_config.agent(CALLER, mcp_servers=["*"])]})
    return box


@pytest.fixture
async def elicit(service: Box, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with Elicit(service.url, CALLER.api_key) as client:
        yield client


async def connect(elicit: Elicit, corp: Op, user: Persona, **asked: Any) -> Outcome:
    """Ask, and let Alice press what she is willing to press."""

    async def go(link: str) -> None:
        await asyncio.to_thread(press_on, user, link)

    return await elicit.oauth((corp.issuer, ALICE.sub), on_url=go, timeout=60, **asked)


def press_on(user: Persona, link: str) -> None:
    user.open(link)
    user.carry_on("signin", "alice", "continue", "allow", "same")


async def call(elicit: Elicit, outcome: Outcome, tool: str, **arguments: Any) -> str:
    async with Client(transport(elicit, outcome)) as client:
        answer = await client.call_tool(tool, arguments)
    return str(answer.content[0].text)


@pytest.mark.anyio
async def test_an_agent_calls_a_tool_of_a_server_that_nobody_configured(
    elicit: Elicit, corp: Op, notes: str, http_user: Persona
) -> None:
    outcome = await connect(elicit, corp, http_user, mcp=notes)
    assert isinstance(outcome, Completed)
    assert await call(elicit, outcome, "list_notes") == "the notes of alice"


@pytest.mark.anyio
async def test_the_user_allows_more_when_a_tool_needs_more(
    elicit: Elicit, corp: Op, keeper: Op, notes: str, http_user: Persona
) -> None:
    first = await connect(elicit, corp, http_user, mcp=notes, scopes=[READS], reuse="never")
    asked: list[tuple[str, ...]] = []

    async def more(scopes: tuple[str, ...]) -> Outcome:
        asked.append(scopes)
        return await connect(elicit, corp, http_user, mcp=notes, scopes=scopes)

    async with Client(transport(elicit, first, ask=more)) as client:
        answer = await client.call_tool("write_note", {"text": "hello"})
    assert answer.content[0].text == "wrote hello"
    assert asked == [(WRITES,)]
    (connection,) = [one for one in await elicit.connections() if one.status == "active"]
    assert set(connection.scopes) >= {READS, WRITES}
    assert (connection.mcp, connection.resource) == (notes, notes)


@pytest.mark.anyio
async def test_a_refreshed_token_is_one_for_the_same_server(
    elicit: Elicit, corp: Op, keeper: Op, notes: str, http_user: Persona
) -> None:
    keeper.change(access_token_ttl=10)
    try:
        outcome = await connect(elicit, corp, http_user, mcp=notes, scopes=[READS], reuse="never")
        before = (await elicit.token(outcome)).access_token
        with anyio.fail_after(50):
            while (await elicit.token(outcome)).access_token == before:
                await anyio.sleep(0.5)
        assert await call(elicit, outcome, "list_notes") == "the notes of alice"
    finally:
        keeper.change(access_token_ttl=3600)
    assert keeper.counts()["registration"] == 1, "one registration served everybody"


@pytest.mark.anyio
async def test_the_guide_is_right(
    service: Box, corp: Op, notes: str, http_user: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELICIT_URL", service.url)
    monkeypatch.setenv("ELICIT_API_KEY", CALLER.api_key)
    names: dict[str, Any] = {}
    for block in found("how-to/remote-mcp-servers.md", "remote"):
        exec(block.text.replace("https://mcp.example.com/mcp", notes), names)
    alice = (corp.issuer, ALICE.sub)

    async def send_to_user(link: str) -> None:
        await asyncio.to_thread(press_on, http_user, link)

    assert await names["list_notes"](alice, send_to_user) == "the notes of alice"
    assert await names["list_notes_of_provider"](alice, send_to_user) == "the notes of alice"
    async with Elicit() as elicit:
        account = await elicit.oauth(alice, mcp=notes, on_url=send_to_user)
    assert await names["write_note"](alice, send_to_user, account) == "wrote hello"


CALLS = """
import asyncio, sys
from elicit_flows.sdk import Elicit
from mcp.client import streamable_http
assert not hasattr(streamable_http, "httpx2"), "a client on mcp 1 stands on httpx"
names = {}
exec(sys.argv[1], names)


async def main():
    async with Elicit() as elicit:
        print(await names["list_notes"](elicit, sys.argv[2]))


asyncio.run(main())
"""


@pytest.fixture(scope="session")
def mcp_1() -> str:
    """Python with ``mcp`` 1.30. In the set-up of a test, because it may take longer than a test may."""
    return environment("mcp-1")


@pytest.mark.anyio
async def test_a_client_of_the_older_library_is_signed_in_as_the_guide_says(
    elicit: Elicit, service: Box, corp: Op, notes: str, http_user: Persona, mcp_1: str
) -> None:
    outcome = await connect(elicit, corp, http_user, mcp=notes)
    assert isinstance(outcome, Completed)
    [block] = found("how-to/remote-mcp-servers.md", "remote-1")
    command = [mcp_1, "-c", CALLS, block.text, (await elicit.connection(outcome)).id]
    env = clean_env({"ELICIT_URL": service.url, "ELICIT_API_KEY": CALLER.api_key, "PYTHONPATH": str(PROJECT)})
    ran = await anyio.run_process(command, env=env, check=False)
    assert ran.stdout.decode().strip() == "the notes of alice", ran.stderr.decode()


def test_alice_reads_where_she_goes_before_she_goes_there(
    new_box: Callable[..., Box], corp: Op, notes: str, user: User
) -> None:
    """In a browser, at a service where nobody has gone to that server yet."""
    box = new_box("embedded")
    box.apply({"agent": [box_config.agent(CALLER, mcp_servers=["*"])]})
    with SyncElicit(box.url, CALLER.api_key) as elicit:
        outcome = elicit.oauth((corp.issuer, ALICE.sub), mcp=notes, on_url=lambda link: allow(user, link, notes))
        assert outcome
        assert elicit.token(outcome).resource == notes


def allow(user: User, link: str, server: str) -> None:
    user.open(link)
    user.carry_on("signin", "alice")
    assert user.page_name == "consent"
    assert server in user.text
    user.press("continue")
    assert "You will go on to 127.0.0.1" in user.text
    assert "It lets you sign in at" in user.text
    assert "Continue to 127.0.0.1" in user.text
    assert user.page.evaluate("document.activeElement.getAttribute('role')") == "status"
    user.press("continue")
    user.carry_on("alice", "allow", "same")
    user.wait_for_page("done", "completed")
