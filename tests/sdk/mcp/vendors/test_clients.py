"""Clients that no one here wrote, against the example and against a server that refuses until the user is through."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Server, Tools
from tests.sdk.mcp.test_example import DOING
from tests.sdk.mcp.vendors.conftest import CLIENTS, OLDER
from tests.sdk.mcp.vendors.peer import Peer

pytestmark = pytest.mark.slow

Calling = Callable[..., Peer]


@pytest.fixture(autouse=True)
def _nothing_is_connected(elicit_box: Service, alice: ScriptedUser) -> None:
    with elicit_box.sync_elicit() as elicit:
        for connection in elicit.connections(alice.claim):
            elicit.revoke(connection)


@pytest.mark.parametrize("tool", ["wipe_files", "choose_plan", "list_files"])
def test_it_is_done_when_the_user_has_done_it(
    calling: Calling, server: Server, alice: ScriptedUser, client: str, tool: str
) -> None:
    peer = calling(client, server.url, tool=tool)
    DOING[tool](alice, peer.link())
    assert peer.answer().startswith("done:")
    assert peer.first("version") == CLIENTS[client][1]
    assert len(peer.said("link")) == 1
    assert peer.said("complete") == ([peer.first("id")] if client in OLDER else [])


def test_a_no_in_the_client_ends_it(calling: Calling, server: Server, alice: ScriptedUser, client: str) -> None:
    declining = calling(client, server.url, tool="accept_terms", action="decline")
    cancelling = calling(client, server.url, tool="wipe_files", action="cancel")
    assert declining.answer().startswith("declined:")
    assert cancelling.answer().startswith("cancelled:")
    for link in (declining.link(), cancelling.link()):
        alice.open(link)
        assert "submit" not in alice.page.forms


def test_a_client_that_opens_no_links_gets_it_in_words(
    calling: Calling, server: Server, alice: ScriptedUser, client: str
) -> None:
    said = calling(client, server.url, tool="choose_plan", links=False).answer()
    assert said.startswith("waiting:")
    alice.submit(next(word for word in said.split() if word.startswith("http")), plan="free")
    assert calling(client, server.url, tool="choose_plan", links=False).answer() == "done: the plan is free"


@pytest.fixture(scope="module")
def refusing(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools(settings={"push": False})


def test_a_refusal_is_known_as_one_and_the_call_succeeds_when_all_is_done(
    calling: Calling, refusing: Tools, alice: ScriptedUser, older: str
) -> None:
    peer = calling(older, refusing.url, tool="both", arguments={"name": older})
    form, confirm = peer.wait_until(lambda: peer.said("refused") if len(peer.said("refused")) == 2 else [], "2 links")
    alice.submit(form, plan="pro")
    alice.submit(confirm)
    assert peer.answer() == "done: form confirm"
    assert sorted(peer.said("complete")) == sorted(peer.said("id"))
    assert peer.said("link") == []
