"""The SDK's own clients, of both majors and eras, and a person who uses the pages."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.test_cases import _nothing_ran_before, link_in  # noqa: F401
from tests.sdk.mcp.vendors.conftest import CLIENTS
from tests.sdk.mcp.vendors.peer import NEW, Peer
from tests.sdk.typescript.conftest import disconnect
from tests.sdk.typescript.mcp.conftest import SERVERS, Built

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]
Calling = Callable[..., Peer]

# The clients of each major of the server; 1.x does not know the newer era.
TALK = {1: ["typescript-1", "typescript-2-older"], 2: ["typescript-1", "typescript-2-older", "typescript-2"]}
DONE: dict[str, tuple[Callable[[ScriptedUser, str], None], str]] = {
    "token": (ScriptedUser.allow, "done: Bearer"),
    "wipe": (ScriptedUser.submit, "done: wiped a"),
    "both": (lambda user, url: user.submit(url, plan="pro"), "done: form confirm"),
}


@pytest.fixture(scope="module", params=TALK)
def major(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def program(built: Built, major: int) -> list[str]:
    return built.program(major)


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools()


@pytest.mark.parametrize("tool", DONE)
def test_it_is_done_when_the_user_has_done_it(
    calling: Calling, tools: Tools, alice: ScriptedUser, elicit_box: Service, major: int, tool: str
) -> None:
    for client in TALK[major]:
        disconnect(elicit_box, alice)
        peer = calling(client, tools.url, tool=tool)
        act, done = DONE[tool]
        act(alice, peer.link())
        if tool == "both":
            peer.wait_until(lambda peer=peer: len(peer.said("link")) > 1, "it is asked for the second")
            alice.submit(peer.said("link")[1])
        assert peer.answer() == done
        assert peer.first("version") == CLIENTS[client][1]
        assert peer.said("complete") == ([] if CLIENTS[client][1] == NEW else peer.said("id"))


def test_a_no_on_the_page_or_in_the_client_runs_nothing(
    calling: Calling, tools: Tools, alice: ScriptedUser, major: int
) -> None:
    for client in TALK[major]:
        on_page = calling(client, tools.url, tool="wipe", arguments={"disk": f"no {client}"})
        alice.decline(on_page.link())
        assert on_page.answer().startswith("declined:")
        in_client = calling(client, tools.url, tool="burn", arguments={"disk": client}, action="decline")
        assert in_client.answer().startswith("declined:")
        alice.open(in_client.link())
        assert "submit" not in alice.page.forms
    assert tools.ran == []


def test_a_client_that_opens_no_links_gets_it_in_words_and_calls_again(
    calling: Calling, tools: Tools, alice: ScriptedUser, major: int
) -> None:
    for client in TALK[major]:
        disk = {"disk": f"words {client}"}
        said = calling(client, tools.url, tool="wipe", arguments=disk, links=False).answer()
        assert said.startswith("waiting:")
        alice.submit(link_in(said))
        again = calling(client, tools.url, tool="wipe", arguments=disk, links=False)
        assert again.answer() == f"done: wiped words {client}"


def test_a_user_may_take_longer_than_one_call_waits(
    calling: Calling, new_tools: Callable[..., Tools], alice: ScriptedUser, major: int
) -> None:
    """The older era's call ends with "waiting:" and is made again; the newer era's client does that by itself."""
    tools = new_tools(settings={"hold": 0.5})
    for client in TALK[major]:
        peer = calling(client, tools.url, tool="wipe", arguments={"disk": client}, patient=True)
        link = peer.link()
        if CLIENTS[client][1] != NEW:
            peer.wait_until(lambda peer=peer: len(peer.said("link")) > 1, "it has called again")
        alice.submit(link)
        assert peer.answer() == f"done: wiped {client}"
        assert set(peer.said("link")) == {link}


def test_a_refusal_is_known_as_one_and_the_call_succeeds_when_all_is_done(
    calling: Calling, new_tools: Callable[..., Tools], alice: ScriptedUser, major: int
) -> None:
    refusing = new_tools(settings={"push": False})
    for client in TALK[major]:
        if CLIENTS[client][1] == NEW:
            continue
        peer = calling(client, refusing.url, tool="both", arguments={"name": client})
        form, confirm = peer.wait_until(
            lambda peer=peer: peer.said("refused") if len(peer.said("refused")) == 2 else [], "2 links"
        )
        alice.submit(form, plan="pro")
        alice.submit(confirm)
        assert peer.answer() == "done: form confirm"
        assert sorted(peer.said("complete")) == sorted(peer.said("id"))
        assert peer.said("link") == []


def test_a_client_that_lets_progress_reset_its_time_out_waits_on_in_one_call(
    calling: Calling, new_tools: Callable[..., Tools], alice: ScriptedUser, major: int
) -> None:
    tools = new_tools(settings={"hold": 60, "progress_every": 0.5})
    peers = {
        client: calling(client, tools.url, tool="wipe", arguments={"disk": client}, timeout=4000, progress=True)
        for client in TALK[major]
    }
    links = {client: peer.link() for client, peer in peers.items()}
    time.sleep(6)
    for client, peer in peers.items():
        alice.submit(links[client])
        assert peer.answer() == f"done: wiped {client}"
        assert peer.said("link") == [links[client]]
        steps = [line["progress"] for line in peer.lines if line.get("message") == "Waiting for the user."]
        assert len(steps) >= 6
        assert steps == sorted(set(steps))


def test_the_type_checker_knows_what_a_guarded_tool_gets(built: Built, program: list[str], major: int) -> None:
    lines = (SERVERS / "types.ts").read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("// wrong")}
    assert built.faults[major] == {"types": wrong}
