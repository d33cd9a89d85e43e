"""The nine faults of lynq 0.13, each as a test of the same situation with us."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from elicit_flows.sdk import Connection, SyncElicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Server, Tools
from tests.sdk.mcp.raw import Legacy, Modern, text
from tests.sdk.mcp.test_cases import link
from tests.support.process import until

pytestmark = pytest.mark.slow


@pytest.fixture
def elicit(elicit_box: Service, alice: ScriptedUser) -> Iterator[SyncElicit]:
    """Alice has connected nothing."""
    with elicit_box.sync_elicit() as client:
        for connection in connected(client, alice):
            client.revoke(connection)
        yield client


def connected(elicit: SyncElicit, user: ScriptedUser) -> list[Connection]:
    return [one for one in elicit.connections(user.claim, provider="acme") if one.status != "revoked"]


def test_1_a_guarded_tool_is_listed_and_can_be_called_at_once(
    server: Server, elicit: SyncElicit, alice: ScriptedUser
) -> None:
    session = Legacy(server.url)
    assert "list_files" in {tool["name"] for tool in session.request("tools/list")["result"]["tools"]}
    assert text(session.call("list_files", then=alice.allow)).startswith("done:")


def test_2_the_link_is_our_page_and_nobody_else_can_finish_it(
    server: Server, elicit: SyncElicit, elicit_box: Service, elicit_user: Callable[[str], ScriptedUser],
    alice: ScriptedUser,
) -> None:  # fmt: skip
    asked = Modern(server.url).call("list_files")
    assert link(asked).startswith(elicit_box.url)
    mallory = elicit_user("bob")
    mallory.open(link(asked))
    assert "continue" not in mallory.page.forms
    assert connected(elicit, alice) == []
    alice.allow(link(asked))
    (account,) = connected(elicit, alice)
    assert account.account == {"id": "acme-alice", "label": "Alice Archer"}


def test_3_the_callback_opened_again_changes_nothing(server: Server, elicit: SyncElicit, alice: ScriptedUser) -> None:
    asked = Modern(server.url).call("list_files")
    trail: list[str] = []
    alice.http.event_hooks["response"] = [lambda response: trail.append(str(response.url))]
    alice.allow(link(asked))
    (before,) = connected(elicit, alice)
    token = elicit.token(before)
    *_, callback = [url for url in trail if "state=" in url and "code=" in url]
    for _ in range(2):
        alice.http.get(callback)
    assert connected(elicit, alice) == [before]
    assert elicit.token(before) == token


def test_4_another_process_may_take_the_call_while_the_first_still_waits(
    new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    first, second = new_tools(settings={"hold": 20}), new_tools(settings={"hold": 20})
    asked = Modern(first.url).call("wipe", {"disk": "two"})
    said: list[str] = []
    waiting = threading.Thread(
        target=lambda: said.append(text(Modern(first.url).retry(asked, "wipe", {"disk": "two"})))
    )
    waiting.start()
    alice.submit(link(asked))
    said.append(text(Modern(second.url).retry(asked, "wipe", {"disk": "two"})))
    waiting.join()
    assert sorted(one.partition(":")[0] for one in said) == ["cancelled", "done"]
    assert [*first.ran, *second.ran] == ["wiped two"]


def test_5_a_restart_in_the_middle_loses_nothing(new_tools: Callable[..., Tools], alice: ScriptedUser) -> None:
    tools = new_tools()
    asked = Modern(tools.url).call("wipe", {"disk": "restart"})
    tools.process.kill9()
    alice.submit(link(asked))
    tools.start()
    assert text(Modern(tools.url).retry(asked, "wipe", {"disk": "restart"})) == "done: wiped restart"


def test_6_who_is_late_is_not_lost(new_tools: Callable[..., Tools], alice: ScriptedUser) -> None:
    tools = new_tools(settings={"hold": 0.3})
    session = Legacy(tools.url)
    assert text(session.call("wipe", {"disk": "late"})).startswith("waiting:")
    alice.submit(session.asked[0]["url"])
    assert text(session.call("wipe", {"disk": "late"})) == "done: wiped late"
    assert tools.ran == ["wiped late"]


def test_7_the_token_is_in_no_message_and_no_file(
    server: Server, elicit: SyncElicit, elicit_box: Service, alice: ScriptedUser
) -> None:
    session = Legacy(server.url)
    answer = session.call("list_files", then=alice.allow)
    (account,) = connected(elicit, alice)
    token = elicit.token(account).access_token
    assert len(token) > 20
    assert token not in repr((answer, session.asked, session.told))
    kept = [path for path in Path(elicit_box._home).rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite3" for path in kept)
    assert not [path for path in kept if token.encode() in path.read_bytes()]


def test_8_whoever_closes_the_tab_after_paying_has_paid_once(server: Server, alice: ScriptedUser) -> None:
    asked = Modern(server.url).call("buy_report")
    alice.go(link(asked), "continue")
    alice.http.follow_redirects = False
    alice.press("pay")
    assert urlsplit(alice.url).netloc != urlsplit(link(asked)).netloc, "she never came back"
    modern = Modern(server.url)
    assert text(modern.retry(asked, "buy_report")).startswith("done:")


def test_9_a_wait_is_shorter_than_a_clients_patience_however_long_the_user_takes(
    new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    tools = new_tools(settings={"hold": 0.5, "rounds": 8})
    modern = Modern(tools.url)
    modern.http.timeout = 2.0  # seconds
    answer = modern.call("wipe", {"disk": "long"})
    url, began = link(answer), time.monotonic()
    person = threading.Timer(2.5, alice.submit, [url])
    person.start()
    while answer["result"]["resultType"] == "input_required":
        answer = modern.retry(answer, "wipe", {"disk": "long"})
    person.join()
    assert text(answer) == "done: wiped long"
    assert time.monotonic() - began > 2.0
    until(lambda: tools.ran == ["wiped long"], "it ran once", timeout=2)
