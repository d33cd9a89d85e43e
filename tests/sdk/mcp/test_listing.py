"""A tool that is hidden until its account is connected; it can be called from the first moment (row L-12)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from elicit_flows.sdk import SyncElicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Legacy, text


@pytest.fixture
def elicit(elicit_box: Service, alice: ScriptedUser) -> Iterator[SyncElicit]:
    with elicit_box.sync_elicit() as client:
        revoke(client, alice)
        yield client


def revoke(elicit: SyncElicit, user: ScriptedUser) -> None:
    for one in elicit.connections(user.claim, provider="acme"):
        if one.status == "active":
            elicit.revoke(one)


def test_l_12_a_tool_is_hidden_until_its_account_is_connected_and_again_when_it_is_given_up(
    new_tools: Callable[..., Tools], elicit: SyncElicit, alice: ScriptedUser
) -> None:
    session = Legacy(new_tools().url)

    def listed() -> set[str]:
        return {tool["name"] for tool in session.request("tools/list")["result"]["tools"]}

    assert "plain" in listed()
    assert "files" not in listed()
    ear = threading.Thread(target=session.listen, args=(1.0,))
    ear.start()
    assert text(session.call("files", then=alice.allow)) == "done: listed"
    assert "files" in listed()
    ear.join()
    assert "notifications/tools/list_changed" in {one["method"] for one in session.told}
    revoke(elicit, alice)
    assert "files" not in listed()
