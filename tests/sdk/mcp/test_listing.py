"""A tool that is hidden until its account is connected; it can be called from the first moment (row L-12)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from elicit_flows.sdk import SyncElicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Legacy, Modern, text
from tests.sdk.mcp.test_cases import link
from tests.support.process import until

CHANGED = "notifications/tools/list_changed"


@pytest.fixture
def elicit(elicit_box: Service, alice: ScriptedUser) -> Iterator[SyncElicit]:
    with elicit_box.sync_elicit() as client:
        revoke(client, alice)
        yield client


def revoke(elicit: SyncElicit, user: ScriptedUser) -> None:
    for one in elicit.connections(user.claim, provider="acme"):
        if one.status == "active":
            elicit.revoke(one)


@pytest.mark.slow
def test_l_12_a_tool_is_hidden_until_its_account_is_connected_and_again_when_it_is_given_up(
    new_tools: Callable[..., Tools], elicit: SyncElicit, alice: ScriptedUser
) -> None:
    session = Legacy(new_tools().url)

    def listed() -> set[str]:
        return {tool["name"] for tool in session.request("tools/list")["result"]["tools"]}

    def heard() -> int:
        return [one["method"] for one in session.told].count(CHANGED)

    assert "plain" in listed()
    assert "files" not in listed()
    ear = threading.Thread(target=session.listen, args=(3.0,))
    ear.start()
    assert text(session.call("files", then=alice.allow)) == "done: listed"
    assert "files" in listed()
    until(lambda: heard() == 1, "the client hears that there is a tool more")
    revoke(elicit, alice)
    until(lambda: heard() == 2, "the client hears that there is one less")
    assert "files" not in listed()
    ear.join()


def test_who_listens_hears_that_their_own_connection_has_ended(
    new_tools: Callable[..., Tools], elicit_box: Service, elicit: SyncElicit, alice: ScriptedUser
) -> None:
    people = {name: ["desk", name] for name in ("alice", "bob")}
    tools = new_tools(user=None, people=people, issuer=elicit_box.sandbox_url)
    client = Modern(tools.url, "alice")
    for params in ({}, {"notifications": None}, {"notifications": ["tools"]}):
        assert client.request("subscriptions/listen", params)["error"]["code"] == -32602
    alice.allow(link(client.call("files")))
    heard: dict[str, list[str]] = {name: [] for name in people}
    ears = {name: Modern(tools.url, name) for name in people}
    threads = [threading.Thread(target=ears[name].listen, args=(heard[name],)) for name in people]
    for thread in threads:
        thread.start()
    until(lambda: all(heard.values()), "both are listened to")
    revoke(elicit, alice)
    until(lambda: CHANGED in heard["alice"], "she hears of it")
    tools.process.kill9()
    for thread in threads:
        thread.join(10)
    acknowledged = "notifications/subscriptions/acknowledged"
    assert heard == {"alice": [acknowledged, CHANGED], "bob": [acknowledged]}
