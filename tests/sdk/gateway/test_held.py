"""Calls that wait in the gateway for a later request of their client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import InitializeRequestParams
from mcp_types.version import LATEST_MODERN_VERSION

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway import gateway, peers
from elicit_flows.sdk.gateway.config import read
from elicit_flows.sdk.gateway.gateway import Gateway
from elicit_flows.sdk.gateway.listing import Listing
from elicit_flows.sdk.gateway.peers import HELD, Exchange, Peers
from elicit_flows.sdk.gateway.wire import CLIENT_META, VERSION_META, Client
from tests.sdk.gateway.conftest import DISK, filled
from tests.sdk.gateway.raw_lines import HELLO


async def asks(made: Exchange) -> Json:
    """A server's call that asks its client for roots."""
    future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
    await made.asked.put(("roots/list", {}, future))
    return await future


async def held(one: Peers) -> tuple[Json, asyncio.Task[Json]]:
    """A call that was begun, and asks. Returns what the client has to send back."""
    made = Exchange(None)
    made.task = asyncio.create_task(asks(made))
    given = await one._advanced(made)
    assert list(given["inputRequests"].values()) == [{"method": "roots/list", "params": {}}]
    return json.loads(given["requestState"]), made.task


@pytest.fixture
def one(tmp_path: Path) -> Peers:
    file = tmp_path / "guard.toml"
    file.write_text('name = "g"\n[user]\niss = "https://idp.test"\nsub = "alice"\n[servers.a]\ncommand = "a"\n')
    return Peers(read(file), Client({}, {}, modern=True), None, lambda peers, message: False)


def test_a_call_goes_on_when_its_answer_comes_and_only_once(one: Peers) -> None:
    async def run() -> None:
        state, task = await held(one)
        [request] = one.held[state[HELD]].open
        assert not one.idle()
        assert await one.resume(state, None, {request: {"roots": []}}) == {"roots": []}
        assert task.done()
        assert one.idle()
        assert await one.resume(state, None, {}) is None

    asyncio.run(run())


def test_of_too_many_that_nobody_answers_the_oldest_are_given_up(one: Peers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MOST_HELD", 3)

    async def run() -> None:
        found = [await held(one) for _ in range(5)]
        await asyncio.sleep(0)
        assert [task.cancelled() for _, task in found] == [True, True, False, False, False]
        assert list(one.held) == [state[HELD] for state, _ in found[2:]]
        assert await one.resume(found[0][0], None, {}) is None
        for _, task in found[2:]:
            task.cancel()

    asyncio.run(run())


def test_a_call_that_nobody_answers_for_an_hour_is_given_up(one: Peers, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        _, task = await held(one)
        assert not one.idle()
        now = time.monotonic() + peers.HELD_SECONDS + 1
        monkeypatch.setattr(peers.time, "monotonic", lambda: now)
        assert one.idle()
        await asyncio.sleep(0)
        assert task.cancelled()

    asyncio.run(run())


def test_t209_one_user_with_many_names_of_a_program_closes_nobody_elses_connections(
    one: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = ["https://idp.test", "alice", "desk"]
    monkeypatch.setattr(gateway, "caller", lambda: tuple(user))
    found = Gateway(one.config, {}, Listing(one.config))

    async def of(program: str) -> Peers:
        about = {VERSION_META: LATEST_MODERN_VERSION, CLIENT_META: {"name": program}}
        return await found._of(
            SimpleNamespace(protocol_version=LATEST_MODERN_VERSION, params={"_meta": about}, request=None, session=None)
        )

    async def run() -> None:
        alices = await of("desk")
        user[1] = "mallory"
        for number in range(gateway.MOST_CLIENTS + 1):
            user[2] = f"client {number}"
            await of(f"desk {number}")
        assert len(found._peers) == 1 + gateway.MOST_OF_A_USER
        for number in range(gateway.MOST_OF_A_USER):
            (await of(f"busy {number}")).begin("a", Exchange(None))
        with pytest.raises(MCPError, match="too many"):
            await of("one more")
        user[1:] = "alice", "desk"
        assert await of("desk") is alices

    asyncio.run(run())


def from_client(program: str, era: str) -> Any:
    """A call of a client that has not signed in: by its name, or by its session."""
    modern = era == LATEST_MODERN_VERSION
    return SimpleNamespace(
        method="tools/call",
        request_id=1,
        protocol_version=era,
        params={"_meta": {VERSION_META: era, CLIENT_META: {"name": program}} if modern else {}},
        request=SimpleNamespace(headers={} if modern else {"mcp-session-id": program}),
        session=SimpleNamespace(client_params=InitializeRequestParams.model_validate(HELLO)),
    )


def test_a_server_that_starts_for_a_cancelled_call_is_ended(tmp_path: Path) -> None:
    """Each attempt of a client that waits less long than the server needs would leave one behind."""
    file, began = tmp_path / "guard.toml", tmp_path / "began"
    program = json.dumps(f"import os, time; open({str(began)!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(60)")
    file.write_text(f'name = "g"\n[servers.a]\ncommand = "{sys.executable}"\nargs = ["-c", {program}]\n')
    found = Peers(read(file), Client({}, {}, modern=False), None, lambda peers, message: False)

    def running() -> bool:
        try:
            os.kill(int(began.read_text().rstrip(".")), 0)
        except ProcessLookupError:
            return False
        return True

    async def run() -> None:
        call = asyncio.create_task(found.upstream("a"))
        async with asyncio.timeout(30):
            while not began.exists() or not began.read_text().endswith("."):
                await asyncio.sleep(0.05)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            while running():
                await asyncio.sleep(0.05)

    asyncio.run(run())


REFUSES = """
import json, os, sys
for line in sys.stdin:
    error = {"code": -1, "message": "No entry with " + os.environ["T"]}
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "error": error}), flush=True)
"""


def test_t182_what_a_server_says_as_it_starts_has_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, program, token = tmp_path / "guard.toml", tmp_path / "refuses.py", "token-1234"
    program.write_text(REFUSES)
    file.write_text(f'name = "g"\n[servers.a]\ncommand = "{sys.executable}"\nargs = ["{program}"]\n')
    config = read(file)

    async def starts(self: Gateway, peers: Peers, context: Any) -> Json:
        peers.hide([token])
        await peers.upstream("a", {"T": token})
        return {}

    monkeypatch.setattr(Gateway, "_answer", starts)
    call = Gateway(config, {}, Listing(config))(from_client("desk", "2025-11-25"), NotImplemented)
    with pytest.raises(MCPError, match=r"No entry with \[removed\]$"):
        asyncio.run(call)


def test_a_process_with_another_variable_goes_on_until_its_own_token_is_renewed(tmp_path: Path) -> None:
    """Two tools of a server may need two accounts, and what a process remembers would be lost with each call."""
    file = tmp_path / "guard.toml"
    file.write_text(f'name = "g"\n{filled(DISK, tmp_path / "ran")}')
    found = Peers(read(file), Client(HELLO["clientInfo"], {}, modern=False), None, lambda peers, message: False)

    async def run() -> None:
        acme, other = await found.upstream("disk", {"ACME": "1"}), await found.upstream("disk", {"OTHER": "1"})
        try:
            assert await found.upstream("disk", {"ACME": "1"}) is acme
            renewed = await found.upstream("disk", {"ACME": "2"})
            assert found.connected == [other, renewed]
            assert not acme.alive
        finally:
            await found.close()

    asyncio.run(run())


@pytest.mark.parametrize("era", [LATEST_MODERN_VERSION, "2025-11-25"])
def test_t209_clients_that_have_not_signed_in_are_limited_together(
    one: Peers, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    """Each has processes of its own. Calls that wait, for a user too, must not start any number of them."""
    monkeypatch.setattr(gateway, "MOST_CLIENTS", 3)
    found, answered = Gateway(one.config, {}, Listing(one.config)), asyncio.Event()

    async def waits(*_: Any) -> Json:
        await answered.wait()
        return {"content": []}

    monkeypatch.setattr(Gateway, "_answer", waits)

    async def called(program: str) -> Json:
        async with asyncio.timeout(5):
            return dict(await found(from_client(program, era), lambda _: waits()))

    async def run() -> None:
        for number in range(5):
            await found._of(from_client(f"idle {number}", era))
        assert len(found._peers) == 3
        calls = [asyncio.create_task(called(f"busy {number}")) for number in range(3)]
        await asyncio.sleep(0.01)
        at_work = list(found._peers.values())
        with pytest.raises(MCPError, match="There are too many clients at work here"):
            await called("one more")
        assert await found._of(from_client("busy 1", era)) in at_work, "a client that is known goes on"
        answered.set()
        assert [(await call)["content"] for call in calls] == [[]] * 3
        assert (await called("one more"))["content"] == []
        assert len(found._peers) == 3

    asyncio.run(run())
