"""Restarts, a load balancer and slow users, as the clients of other vendors bear them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.vendors.conftest import CLIENTS
from tests.sdk.mcp.vendors.peer import NEW, Peer
from tests.support.op import node

pytestmark = pytest.mark.slow

Calling = Callable[..., Peer]
# Those whose time-outs begin anew with each progress notification, if they are told so.
RESETTING = ["typescript-1", "typescript-2-older", "typescript-2"]


@pytest.fixture(scope="module")
def elicit_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One that may be killed, which the last test does."""
    with Service(tmp_path_factory.mktemp("fragile")) as service:
        yield service


def all_wipe(calling: Calling, tools: Tools, clients: Iterable[str] = CLIENTS, **told: Any) -> list[Peer]:
    """A call by every client at once, each of a disk of its own."""
    return [calling(client, tools.url, tool="wipe", arguments={"disk": client}, **told) for client in clients]


@pytest.fixture(scope="module", autouse=True)
def slow(
    new_tools: Callable[..., Tools], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[float, list[Peer], list[str]]]:
    """When they were asked, clients whose user is slow, and the links. They wait while the other tests run."""
    url, logs = new_tools(settings={"hold": 120}).url, tmp_path_factory.mktemp("slow")
    peers = []
    try:
        for client in RESETTING:
            script, version = CLIENTS[client]
            told = {"tool": "wipe", "arguments": {"disk": f"slow {client}"}, "timeout": 20_000, "progress": True}
            peers.append(Peer([str(node()), script], logs / client, url, version=version, **told))
        links = [peer.link() for peer in peers]
        yield time.monotonic(), peers, links
    finally:
        for peer in peers:
            peer.kill9()


def test_the_server_is_restarted_while_the_user_is_at_it(
    calling: Calling, new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    tools = new_tools()
    peer = calling("typescript-2", tools.url, tool="wipe", arguments={"disk": "restarted"}, held=True)
    alice.submit(peer.link())
    tools.restart()
    peer.go_on()
    assert peer.answer() == "done: wiped restarted"
    assert len(peer.said("link")) == 1


def test_a_session_that_ended_with_the_server_is_no_reason_to_ask_anew(
    calling: Calling, new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    tools = new_tools()
    before = calling("typescript-1", tools.url, tool="burn")
    link = before.link()
    tools.restart()
    after = calling("typescript-1", tools.url, tool="burn")
    assert after.link() == link
    alice.submit(link)
    assert after.answer() == "done: burnt a"
    assert tools.ran == ["burnt a"]


def test_two_processes_of_a_server_take_turns(
    calling: Calling, new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    one, other = (new_tools(settings={"hold": 0.5}) for _ in range(2))
    peer = calling("typescript-2", one.url, other.url, tool="both")
    alice.submit(peer.link(), plan="pro")
    confirm = peer.wait_until(lambda: peer.said("link")[1:], "it is asked for the second")
    alice.submit(confirm[0])
    assert peer.answer() == "done: form confirm"
    assert len(peer.said("link")) == 2
    assert sorted([*one.ran, *other.ran]) == ["form confirm"]


def test_a_client_that_lets_progress_reset_its_time_out_waits_on_in_one_call(
    calling: Calling, new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    limit = 2.5
    tools = new_tools(settings={"hold": 30, "progress_every": 0.5})
    peers = all_wipe(calling, tools, RESETTING, timeout=limit * 1000, progress=True)
    links = [peer.link() for peer in peers]
    time.sleep(3 * limit)
    for link in links:
        alice.submit(link)
    for client, peer, link in zip(RESETTING, peers, links, strict=True):
        assert peer.answer() == f"done: wiped {client}"
        assert peer.said("link") == [link]
        # typescript-2 has one of its own for each round.
        steps = [line["progress"] for line in peer.lines if line.get("message") == "Waiting for the user."]
        assert len(steps) > 3 * limit
        assert steps == sorted(set(steps))


def test_a_user_may_take_several_times_as_long_as_a_clients_own_time_out(
    calling: Calling, mcp_1: str, new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    limit = 2.5  # seconds for a request; 60 unless a client is told otherwise
    tools = new_tools(settings={"hold": 1, "rounds": 9})  # clients of the newer era give up after ten rounds
    # FastMCP takes seconds to start, and the others' rounds would be over when it has.
    clients = {name: version for name, (_, version) in CLIENTS.items() if not name.startswith("fastmcp")}
    peers = all_wipe(calling, tools, clients, timeout=limit * 1000, patient=True)
    links = [peer.link() for peer in peers]
    time.sleep(2 * limit)
    for link in links:
        alice.submit(link)
    assert [peer.answer() for peer in peers] == [f"done: wiped {client}" for client in clients]
    for peer, version in zip(peers, clients.values(), strict=True):
        calls = len(peer.said("link"))
        assert calls == 1 if version == NEW else calls > 3, peer.lines
        assert len(set(peer.said("link"))) == 1


@pytest.mark.limit(120)
def test_clients_with_a_time_out_of_20_seconds_wait_a_minute(
    slow: tuple[float, list[Peer], list[str]], alice: ScriptedUser
) -> None:
    """With progress as often as it comes unless the author sets it."""
    began, peers, links = slow
    time.sleep(max(0, began + 60 - time.monotonic()))
    for link in links:
        alice.submit(link)
    assert [peer.answer() for peer in peers] == [f"done: wiped slow {client}" for client in RESETTING]
    assert [peer.said("link") for peer in peers] == [[link] for link in links]


def test_the_service_is_killed_while_clients_wait(
    calling: Calling,
    mcp_1: str,
    fastmcp_4: str,
    elicit_box: Service,
    new_tools: Callable[..., Tools],
    alice: ScriptedUser,
) -> None:
    peers = all_wipe(calling, new_tools())
    links = [peer.link() for peer in peers]
    elicit_box.crash()
    for link in links:
        alice.submit(link)
    assert [peer.answer() for peer in peers] == [f"done: wiped {client}" for client in CLIENTS]
    assert [len(peer.said("link")) for peer in peers] == [1] * len(peers)
