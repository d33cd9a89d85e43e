"""``examples/ahp_host.py`` as a process, with two clients and its user's browser page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from elicit_flows.domain.status import Status
from elicit_flows.sdk import SyncElicit
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser
from tests.sdk.ahp.actions import changed, completed
from tests.sdk.ahp.client import Client, View
from tests.sdk.ahp.conftest import CHATS, Host
from tests.support.browser import User
from tests.support.process import until

SESSION = "ahp-session:/example"
ONE, TWO = CHATS


def plan(value: str, state: str = "submitted") -> dict[str, Any]:
    return {"state": state, "value": {"kind": "selected", "value": value}}


def reads_the_terms(user: ScriptedUser, url: str) -> None:
    user.go(url, "continue")
    back = re.search(r'href="([^"]+/callback/[^"]+)"', user.http.get(user.url).text)
    assert back, user.page.text
    user.http.get(back.group(1).replace("&amp;", "&"))


@pytest.mark.parametrize(
    ("tool", "does", "answer"),
    [
        ("buy_report", ScriptedUser.pay, "done: The report is yours."),
        ("store_api_key", lambda user, url: user.submit(url, key="sk-1"), "done: The key is kept."),
        ("wipe_files", ScriptedUser.submit, "done: All files are wiped."),
        ("wipe_files", ScriptedUser.decline, "declined: then not."),
        ("choose_plan", lambda user, url: user.submit(url, plan="pro"), "done: The plan is pro."),
        ("accept_terms", reads_the_terms, "done: The terms are accepted."),
    ],
)
def test_a_message_that_names_a_tool_opens_a_request_and_its_end_ends_the_turn(
    host: Host, alice: ScriptedUser, tool: str, does: Callable[[ScriptedUser, str], None], answer: str
) -> None:
    client = host.client("laptop", ONE)
    request = client.ask(ONE, f"Please {tool} for me.")
    assert client.snapshot(ONE)["status"] == 24
    does(alice, request["url"])
    assert client.answer(ONE) == answer
    assert client.snapshot(ONE)["status"] == 1
    assert "sk-1" not in json.dumps(client.heard)


def test_a_message_without_a_tool_is_answered_at_once(host: Host) -> None:
    client = host.client("laptop", ONE)
    client.say(ONE, "Hello")
    assert client.answer(ONE).startswith("waiting: name one of list_files, ")


def test_ahp_14_a_tool_call_pauses_while_an_account_is_connected(
    host: Host, alice: ScriptedUser, unconnected: SyncElicit
) -> None:
    client = host.client("laptop", ONE)
    request = client.ask(ONE, "list_files")
    view = client.views[ONE]
    [call] = [key for key, status in view.calls.items() if status == "auth-required"]
    paused = client.snapshot(ONE)["activeTurn"]["responseParts"][0]["toolCall"]
    alice.allow(request["url"])
    assert client.answer(ONE).startswith("done: ")
    assert "Travel plan.pdf" in view.texts[-1]
    resumed = client.snapshot(ONE)["turns"][-1]["responseParts"][0]["toolCall"]
    assert paused["status"] == "auth-required"
    assert resumed["status"] == view.calls[call] == "completed"
    kept = ("toolCallId", "toolName", "contributor", "invocationMessage", "confirmed")
    assert [paused[name] for name in kept] == [resumed[name] for name in kept]


@pytest.mark.slow
def test_ahp_3_two_clients_and_the_page_in_a_browser_fill_in_one_form(
    host: Host, new_user: Callable[..., User]
) -> None:
    laptop, phone = (host.client(name, ONE) for name in ("laptop", "phone"))
    request = laptop.ask(ONE, "choose_plan")
    theirs = phone.opened(ONE, set(phone.views[ONE].requests) - {request["id"]})
    assert theirs == request
    window = new_user()
    window.open(request["url"])
    window.carry_on("signin", "alice")
    window.page.get_by_label("pro").check()
    for client in (laptop, phone):
        client.until(lambda one=client: one.views[ONE].requests[request["id"]]["answers"], "the page's draft is seen")
        assert client.views[ONE].requests[request["id"]]["answers"] == {"plan": plan("pro", "draft")}
    assert phone.dispatch(ONE, changed(request["id"], "plan", plan("free", "draft"))) is None
    until(window.page.get_by_label("free").is_checked, "the page shows the phone's draft")
    laptop.until(lambda: request["answers"] == {"plan": plan("free", "draft")}, "the phone's draft is seen")
    assert phone.dispatch(ONE, completed(request["id"], "accept", plan=plan("free"))) is None
    assert laptop.answer(ONE) == phone.answer(ONE) == "done: The plan is free."
    window.wait_for_page("done", "completed")
    assert laptop.views[ONE] == phone.views[ONE] == View.of(laptop.snapshot(ONE))


def test_ahp_6_accept_needs_the_required_answers_submitted(host: Host) -> None:
    laptop, phone = (host.client(name, ONE) for name in ("laptop", "phone"))
    request = laptop.ask(ONE, "choose_plan")["id"]
    assert phone.dispatch(ONE, completed(request, "accept")) == "Not submitted yet, or not fitting: plan."
    assert laptop.dispatch(ONE, changed(request, "plan", plan("pro", "draft"))) is None
    assert phone.dispatch(ONE, completed(request, "accept")) == "Not submitted yet, or not fitting: plan."
    assert laptop.dispatch(ONE, changed(request, "plan", plan("pro"))) is None
    assert phone.dispatch(ONE, completed(request, "accept")) is None
    assert laptop.answer(ONE) == "done: The plan is pro."


def test_ahp_8_the_first_completion_wins_and_the_other_client_is_told_why(host: Host) -> None:
    laptop, phone = (host.client(name, ONE) for name in ("laptop", "phone"))
    request = laptop.ask(ONE, "wipe_files")["id"]
    actions = {laptop: completed(request, "decline"), phone: completed(request, "cancel")}
    for client, action in actions.items():
        client.notify("dispatchAction", channel=ONE, clientSeq=99, action=action)
    reasons = {client: client.until(lambda one=client: echo_of(one, 99), "the echo") for client in actions}
    [winner] = [client for client, echo in reasons.items() if "rejectionReason" not in echo]
    [loser] = [client for client in reasons if client is not winner]
    said = actions[winner]["response"]
    assert reasons[loser]["rejectionReason"] == f"The request is over: {winner.name} has sent {said}."
    assert laptop.answer(ONE) == phone.answer(ONE)
    assert laptop.views[ONE] == phone.views[ONE]
    assert laptop.views[ONE].responses[request] == said
    assert phone.dispatch(ONE, completed(request, "accept")) == reasons[loser]["rejectionReason"]


def echo_of(client: Client, number: int) -> dict[str, Any] | None:
    mine = {"clientId": client.name, "clientSeq": number}
    return next((one for one in client.heard if one.get("origin") == mine), None)


def test_ahp_10_who_was_away_gets_what_was_missed_or_all_as_it_stands(new_host: Callable[..., Host]) -> None:
    host = new_host(keep=6)
    laptop, phone = (host.client(name, ONE, SESSION) for name in ("laptop", "phone"))
    request = laptop.ask(ONE, "choose_plan")["id"]
    phone.opened(ONE, set())
    phone.close()
    laptop.dispatch(ONE, changed(request, "plan", plan("pro")))
    laptop.dispatch(ONE, completed(request, "accept"))
    laptop.answer(ONE)
    seen = phone.seq
    missed = phone.reconnect()
    assert missed == {
        "type": "replay",
        "missing": [],
        "actions": [one for one in laptop.heard if one["serverSeq"] > seen],
    }
    assert missed["actions"][-1]["action"]["type"] == "chat/turnComplete"
    assert phone.views[ONE] == laptop.views[ONE]
    phone.close()
    for _ in range(3):
        laptop.say(ONE, "Hello")
        laptop.answer(ONE)
    assert phone.reconnect()["type"] == "snapshot"
    assert phone.views[ONE] == laptop.views[ONE]
    assert phone.views[SESSION] == laptop.views[SESSION]
    assert phone.dispatch(ONE, completed(request, "accept")) is not None


@pytest.mark.slow
def test_what_was_answered_while_the_host_was_down_is_taken_up_once(
    new_host: Callable[..., Host], alice: ScriptedUser
) -> None:
    host = new_host()
    request = host.client("laptop", ONE).ask(ONE, "choose_plan")

    def stop() -> None:
        host.hang_up()
        host.process.kill9()

    def said_when_started_again() -> list[str]:
        client = host.start().client("laptop", ONE)
        view = client.views[ONE]
        client.until(lambda: view.active is None, "no turn is under way")
        stop()
        return view.texts

    stop()
    alice.submit(request["url"], plan="pro")
    assert said_when_started_again() == ["done: The plan is pro."]
    assert said_when_started_again() == [], "it was acted on"


def test_ahp_11_one_list_says_what_needs_a_person_in_every_chat(host: Host) -> None:
    asking = [host.client(f"of {chat}", chat) for chat in CHATS]
    watch = host.client("watch", SESSION)
    first, second = (client.ask(chat, "wipe_files")["id"] for client, chat in zip(asking, CHATS, strict=True))
    needed = watch.views[SESSION].needed
    watch.until(lambda: len(needed) == 2, "both are listed")
    assert needed == {first: ONE, second: TWO}
    assert watch.snapshot(SESSION)["status"] == 24
    # Answered from the list alone, by a client that never saw the chat.
    assert watch.dispatch(needed[second], completed(second, "decline")) is None
    watch.until(lambda: needed == {first: ONE}, "the second is gone from the list")
    assert asking[1].answer(TWO) == "declined: then not."


def test_ahp_12_an_abandoned_turn_leaves_its_request_without_a_response(
    host: Host, alice: ScriptedUser, elicit_box: Service
) -> None:
    client = host.client("laptop", ONE, SESSION)
    request = client.ask(ONE, "choose_plan")["id"]
    client.dispatch(ONE, changed(request, "plan", plan("pro", "draft")))
    client.cancel_turn(ONE)
    client.until(lambda: not client.views[SESSION].needed, "nothing is needed any more")
    part = client.snapshot(ONE)["turns"][-1]["responseParts"][-1]
    assert part["request"]["answers"] == {"plan": plan("pro", "draft")}
    assert "response" not in part
    reason = client.dispatch(ONE, completed(request, "accept", plan=plan("pro")))
    assert reason == "The request is over: the turn that asked has ended."
    with elicit_box.sync_elicit() as elicit:
        kept = elicit.get(request)
    assert (kept.status, kept.metadata["text"]) == (Status.CANCELLED, "choose_plan")


def test_ahp_13_the_transcript_keeps_the_request_with_its_final_answers(host: Host, alice: ScriptedUser) -> None:
    client = host.client("laptop", ONE)
    request = client.ask(ONE, "choose_plan")
    client.dispatch(ONE, changed(request["id"], "plan", plan("free")))
    alice.submit(request["url"], plan="pro")
    client.answer(ONE)
    part = client.snapshot(ONE)["turns"][-1]["responseParts"][0]
    assert part["response"] == "accept"
    assert part["request"]["answers"] == {"plan": plan("pro")}
    assert client.views[ONE] == View.of(client.snapshot(ONE))


def test_a_host_that_was_killed_goes_on_with_the_same_request(
    new_host: Callable[..., Host], alice: ScriptedUser
) -> None:
    host = new_host()
    client = host.client("laptop", ONE, SESSION)
    request = client.ask(ONE, "choose_plan")
    turn = client.views[ONE].active
    client.dispatch(ONE, changed(request["id"], "plan", plan("pro", "draft")))
    host.process.kill9()
    host.start()
    other = host.client("phone", TWO)
    for _ in range(4):  # numbers of this process are none of the last one's
        other.say(TWO, "Hello")
        other.answer(TWO)
    assert client.reconnect()["type"] == "snapshot"
    client.until(lambda: client.views[SESSION].needed, "it is asked again")
    assert client.views[ONE].active == turn
    assert client.views[ONE].requests == {request["id"]: {**request, "answers": {"plan": plan("pro", "draft")}}}
    assert client.dispatch(ONE, changed(request["id"], "plan", plan("pro"))) is None
    alice.submit(request["url"])
    assert client.answer(ONE) == "done: The plan is pro."


@pytest.mark.slow
def test_a_turn_waits_through_a_crash_of_the_service(host: Host, alice: ScriptedUser, elicit_box: Service) -> None:
    client = host.client("laptop", ONE)
    request = client.ask(ONE, "wipe_files")
    elicit_box.crash()
    alice.submit(request["url"])
    assert client.answer(ONE) == "done: All files are wiped."


# The host's own manners.


def test_a_client_of_another_age_is_told_which_versions_there_are(host: Host) -> None:
    with connect(host.url, proxy=None) as socket:
        params = {"channel": "ahp-root://", "protocolVersions": ["2.0.0", "0.9.0"], "clientId": "old"}
        socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
        error = json.loads(socket.recv(timeout=10))["error"]
        assert (error["code"], error["data"]) == (-32005, {"supportedVersions": ["1.0.0"]})
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=10)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("no json", -32700), ("[]", -32600), (b"{}", -32600),
        ('{"id": 1, "method": "subscribe", "params": {"channel": "ahp-chat:/one"}}', -32600),
        ('{"id": 1, "method": "listen", "params": {}}', -32601),
        ('{"id": 1, "method": "initialize", "params": {"clientId": "x"}}', -32602),
        ('{"id": 1, "method": "initialize"}', -32602),
    ],
)  # fmt: skip
def test_what_is_no_request_is_answered_with_an_error(host: Host, message: str | bytes, code: int) -> None:
    with connect(host.url, proxy=None) as socket:
        socket.send(message)
        assert json.loads(socket.recv(timeout=10))["error"]["code"] == code


def test_a_chat_has_one_turn_at_a_time(host: Host) -> None:
    client = host.client("laptop", ONE)
    client.ask(ONE, "wipe_files")
    turn = client.views[ONE].active
    message = {"text": "Hello", "origin": {"kind": "user"}}
    second = {"type": "chat/turnStarted", "turnId": "t2", "startedAt": "2026-11-21T10:00:00Z", "message": message}
    assert client.dispatch(ONE, second) == "A turn is under way."
    assert client.dispatch(ONE, {**second, "message": "Hello"}) == "Give a turnId and a message with a text."
    assert client.snapshot(ONE)["activeTurn"]["id"] == turn


def test_an_action_for_a_channel_that_there_is_not_is_ignored(host: Host) -> None:
    client = host.client("laptop", ONE)
    client.notify("dispatchAction", channel="ahp-chat:/none", clientSeq=1, action=completed("el_1", "accept"))
    assert client.dispatch(ONE, {"type": "chat/truncated"}) == "That is nothing to be done here now."
    assert len(client.heard) == 1


def test_who_does_not_subscribe_any_more_hears_of_their_own_actions_alone(host: Host) -> None:
    client, other = host.client("laptop", ONE), host.client("phone", ONE)
    client.request("unsubscribe", channel=ONE)
    turn = client.say(ONE, "Hello")
    other.until(lambda: turn in other.views[ONE].ended, "the turn has ended")
    client.request("unsubscribe", channel=TWO)  # whatever was sent before has arrived by now
    assert [one["action"]["type"] for one in client.heard] == ["chat/turnStarted"]
    assert client.snapshot(ONE)["turns"][-1]["state"] == "complete"


def test_no_page_in_a_browser_may_connect(host: Host) -> None:
    for url, origin in ((host.url, "http://evil.test"), (host.url.replace("/ahp", "/"), None)):
        with pytest.raises(InvalidStatus), connect(url, origin=origin, proxy=None):
            pass
