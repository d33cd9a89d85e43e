"""The example agent with the protocol's own client: every way in which a question can end, on both transports."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as connect_to

from elicit_flows.sdk import SyncElicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.acp.client import FORM, LINK, NEITHER, AcpClient
from tests.sdk.acp.conftest import Connect, example
from tests.support.process import PROJECT
from tests.wires.validator import Schema

ACP = Schema("acp.json")


def link(asked: dict[str, Any]) -> str:
    return asked["params"]["url"]


def status(service: SyncElicit, asked: dict[str, Any]) -> str:
    return service.get(asked["params"]["elicitationId"]).status


def forget_connections(service: SyncElicit, user: ScriptedUser) -> None:
    for connection in service.connections(user.claim):
        if connection.status == "active":
            service.revoke(connection)


def test_a_web_page_cannot_talk_to_the_agent(address: str):
    with pytest.raises(InvalidStatus), connect_to(address, origin="https://elsewhere.test", proxy=None):
        pass
    with connect_to(address, proxy=None):
        pass


def read_terms(user: ScriptedUser, url: str) -> None:
    user.go(url, "continue")
    user.open(parse_qs(urlsplit(user.url).query)["elicit_return"][0])


def test_acp_11_the_files_are_listed_and_no_token_goes_over_the_wire(
    client: AcpClient, session: str, service: SyncElicit, alice: ScriptedUser
):
    forget_connections(service, alice)
    turn = client.prompt(session, "list_files")
    asked = client.asked(session)
    client.answer(asked, "accept")
    alice.allow(link(asked))
    reason, text = client.turn(session, turn)
    assert reason == "end_turn"
    assert text.startswith("done: ")
    assert "Travel plan.pdf" in text
    token = service.token(service.get(asked["params"]["elicitationId"]).result["connection"])
    assert len(token.access_token) > 10
    assert token.access_token not in repr(client.lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "act", "text"),
    [
        ("buy_report", lambda user, url: user.pay(url), "done: the report is yours"),
        ("store_api_key", lambda user, url: user.submit(url, api_key="sk-very-secret"), "done: kept as cn_"),
        ("wipe_files", lambda user, url: user.submit(url), "done: all files are deleted"),
        ("choose_plan", lambda user, url: user.submit(url, plan="pro"), "done: the plan is pro"),
        ("accept_terms", read_terms, "done: the terms are accepted"),
    ],
    ids=["payment", "credentials", "confirm", "form", "link"],
)
def test_every_tool_does_its_work(client: AcpClient, session: str, alice: ScriptedUser, tool: str, act: Any, text: str):
    turn = client.prompt(session, f"please {tool}")
    asked = client.asked(session)
    ACP.check("CreateElicitationRequest", client.received("elicitation/create")[-1])
    client.answer(asked, "accept")
    act(alice, link(asked))
    reason, said = client.turn(session, turn)
    assert (reason, said[: len(text)]) == ("end_turn", text)
    assert "sk-very-secret" not in repr(client.lines)
    assert client.completions(asked) == 1


def test_acp_3_the_link_is_our_page_and_tells_nothing(client: AcpClient, session: str, elicit_box: Service):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    params = asked["params"]
    assert params["url"] == f"{elicit_box.url}/c/{params['elicitationId']}"
    assert set(params) == {"sessionId", "toolCallId", "mode", "message", "url", "elicitationId"}
    assert "alice" not in repr(params)
    client.answer(asked, "cancel")
    client.end(turn)


def test_acp_4_two_open_questions_of_a_connection_have_two_ids(client: AcpClient, service: SyncElicit):
    sessions = [client.session(), client.session()]
    turns = [client.prompt(one, "wipe_files") for one in sessions]
    asked = [client.asked(one) for one in sessions]
    ids = [one["params"]["elicitationId"] for one in asked]
    assert len(set(ids)) == 2
    assert all(len(one) >= 25 for one in ids)
    for one in asked:
        client.answer(one, "decline")
    assert [client.turn(*one)[1][:9] for one in zip(sessions, turns, strict=True)] == ["declined:", "declined:"]


def test_acp_5_a_question_stays_in_its_session_and_tool_call(client: AcpClient, session: str, service: SyncElicit):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    calls = [one["update"]["toolCallId"] for one in client.received("session/update") if "toolCallId" in one["update"]]
    scope = {"sessionId": session, "toolCallId": calls[-1]}
    assert asked["params"].items() >= scope.items()
    assert service.get(asked["params"]["elicitationId"]).metadata["acp"] == scope
    client.answer(asked, "cancel")
    client.end(turn)


@pytest.mark.slow
def test_acp_6_accept_is_consent_and_only_the_service_says_that_it_is_done(
    client: AcpClient, session: str, service: SyncElicit, alice: ScriptedUser, connect: Connect, transport: str
):
    another = connect(transport)
    another.initialize(LINK)
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    client.answer(asked, "accept")
    assert not service.wait(asked["params"]["elicitationId"], timeout=0.5).over
    assert not list(client.chunks(session))
    assert client.completions(asked) == 0
    alice.submit(link(asked))
    assert client.turn(session, turn) == ("end_turn", "done: all files are deleted")
    assert client.completions(asked) == 1
    assert not another.received("elicitation/complete")


def test_it_may_be_done_before_the_client_accepts(client: AcpClient, session: str, alice: ScriptedUser):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    alice.submit(link(asked))
    assert client.turn(session, turn) == ("end_turn", "done: all files are deleted")
    client.answer(asked, "accept")
    assert client.turn(session, client.prompt(session, "nothing"))[0] == "end_turn"
    assert client.completions(asked) == 1


@pytest.mark.slow
def test_it_may_be_done_while_the_client_accepts(client: AcpClient, session: str, alice: ScriptedUser):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    alice.open(link(asked))
    client.answer(asked, "accept")
    alice.press("submit")
    assert client.turn(session, turn) == ("end_turn", "done: all files are deleted")
    assert client.completions(asked) == 1


@pytest.mark.slow
def test_a_no_after_it_was_done_changes_nothing(client: AcpClient, session: str, alice: ScriptedUser):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    alice.submit(link(asked))
    client.answer(asked, "decline")
    assert client.turn(session, turn) == ("end_turn", "done: all files are deleted")


@pytest.mark.parametrize(("action", "text"), [("decline", "declined: "), ("cancel", "cancelled: ")])
def test_acp_8_a_no_in_the_client_takes_the_question_back(
    client: AcpClient, session: str, service: SyncElicit, action: str, text: str
):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    client.answer(asked, action)
    assert client.turn(session, turn)[1].startswith(text)
    assert status(service, asked) == "cancelled"
    assert client.completions(asked) == 0


def test_acp_8_a_no_on_our_page_is_a_no(client: AcpClient, session: str, alice: ScriptedUser):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    client.answer(asked, "accept")
    alice.decline(link(asked))
    assert client.turn(session, turn) == ("end_turn", "declined: you said no")
    assert client.completions(asked) == 1


def test_acp_8_what_is_cancelled_at_the_service_is_over_in_the_client(
    client: AcpClient, session: str, service: SyncElicit
):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    client.answer(asked, "accept")
    service.cancel(asked["params"]["elicitationId"])
    assert client.turn(session, turn) == ("end_turn", "cancelled: the question was cancelled")
    assert client.completions(asked) == 1


def test_acp_10_somebody_else_with_the_link_gets_nowhere(
    client: AcpClient, session: str, service: SyncElicit, bob: ScriptedUser
):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    client.answer(asked, "accept")
    with pytest.raises(AssertionError, match="not submit"):
        bob.submit(link(asked))
    assert status(service, asked) == "pending"
    client.notify("session/cancel", sessionId=session)
    client.end(turn)


@pytest.mark.parametrize("accepted", [False, True])
def test_acp_13_a_cancelled_turn_takes_the_question_back(
    client: AcpClient, session: str, service: SyncElicit, accepted: bool
):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    if accepted:
        client.answer(asked, "accept")
    client.notify("session/cancel", sessionId=session)
    assert client.turn(session, turn) == ("cancelled", "cancelled: as you wish")
    assert status(service, asked) == "cancelled"
    assert client.completions(asked) == 1


def test_acp_16_an_answer_of_the_future_is_neither_yes_nor_no(client: AcpClient, session: str, service: SyncElicit):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    client.answer(asked, "_later", until="tomorrow")
    assert client.turn(session, turn)[1].startswith("waiting: The client answered '_later'")
    assert status(service, asked) == "pending"
    service.cancel(asked["params"]["elicitationId"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transport", "offered"),
    [("stdio", NEITHER), *(("websocket", offered) for offered in (None, NEITHER, {"url": None}, FORM))],
)
def test_acp_1_a_client_is_not_asked_in_a_mode_that_it_did_not_advertise(
    connect: Connect, transport: str, offered: Any
):
    poor = connect(transport)
    poor.initialize(offered)
    session = poor.session()
    reason, text = poor.turn(session, poor.prompt(session, "store_api_key"))
    assert (reason, text.partition(":")[0]) == ("end_turn", "cancelled")
    assert "elicitation.url" in text
    assert not poor.received("elicitation/create")


@pytest.mark.slow
def test_acp_15_a_form_in_the_client_is_checked_by_the_service(connect: Connect, transport: str):
    forms = connect(transport)
    forms.initialize(FORM)
    for plan, text in (("gold", "cancelled: "), ("pro", "done: the plan is pro")):
        session = forms.session()
        turn = forms.prompt(session, "choose_plan")
        asked = forms.asked(session)
        assert asked["params"]["mode"] == "form"
        ACP.check("CreateElicitationRequest", forms.received("elicitation/create")[-1])
        forms.answer(asked, "accept", content={"plan": plan})
        assert forms.turn(session, turn)[1].startswith(text)
    assert not forms.received("elicitation/complete")


@pytest.mark.slow
def test_a_client_that_goes_away_loses_no_question(
    connect: Connect, transport: str, service: SyncElicit, alice: ScriptedUser
):
    first = connect(transport)
    first.initialize(LINK)
    session = first.session()
    first.prompt(session, "wipe_files")
    asked = first.asked(session)
    first.answer(asked, "accept")
    first.close()
    again = connect(transport)
    again.initialize(LINK)
    again.call("session/load", sessionId=session, cwd="/", mcpServers=[])
    shown = again.asked(session)
    assert shown["params"] == asked["params"]
    again.answer(shown, "accept")
    alice.submit(link(asked))
    assert again.said(session) == "done: all files are deleted"
    assert again.completions(shown) == 1


@pytest.mark.slow
def test_acp_9_another_user_cannot_take_up_a_session_by_its_id(
    elicit_box: Service, connect: Connect, service: SyncElicit, client: AcpClient, session: str
):
    turn = client.prompt(session, "wipe_files")
    asked = client.asked(session)
    theirs = connect("stdio", agent=example(elicit_box, "--user", elicit_box.sandbox_url, "bob"))
    theirs.initialize(LINK)
    theirs.call("session/load", sessionId=session, cwd="/", mcpServers=[])
    assert theirs.turn(session, theirs.prompt(session, "nothing"))[1].startswith("Name a tool")
    assert not theirs.received("elicitation/create")
    client.answer(asked, "cancel")
    client.end(turn)


def early(connect: Connect, elicit_box: Service, seconds: int) -> AcpClient:
    """A client of the agent that asks while it authenticates, a question that is open for so long."""
    program = str(PROJECT / "tests/sdk/acp/early_agent.py")
    client = connect("stdio", agent=[sys.executable, program, elicit_box.sandbox_url, "alice", str(seconds)])
    client.initialize(LINK)
    return client


@pytest.mark.slow
@pytest.mark.parametrize(("act", "ended"), [("submit", {"result": {}}), ("decline", {"error": -32000})])
def test_acp_14_a_user_is_asked_before_there_is_a_session(
    connect: Connect, elicit_box: Service, alice: ScriptedUser, act: str, ended: dict[str, Any]
):
    client = early(connect, elicit_box, 900)
    name = client.begin("authenticate", methodId="confirm")
    asked = client.asked(None)
    sent = next(line["sent"] for line in client.lines if line.get("sent", {}).get("method") == "authenticate")
    assert asked["params"]["requestId"] == sent["id"]
    assert "sessionId" not in asked["params"]
    client.answer(asked, "accept")
    getattr(alice, act)(link(asked))
    found = client.end(name)
    assert found.get("result") == ended.get("result")
    assert found.get("error", {}).get("code") == ended.get("error")
    assert client.completions(asked) == 1


@pytest.mark.slow
def test_acp_8_a_question_that_nobody_answers_in_time_is_over_in_the_client(
    connect: Connect, elicit_box: Service, service: SyncElicit
):
    client = early(connect, elicit_box, 1)
    name = client.begin("authenticate", methodId="confirm")
    asked = client.asked(None)
    client.answer(asked, "accept")
    assert client.end(name)["error"]["code"] == -32000
    assert client.completions(asked) == 1
    assert status(service, asked) == "expired"


@pytest.mark.slow
@pytest.mark.parametrize("done", [True, False], ids=["answered meanwhile", "still open"])
def test_an_agent_that_was_killed_goes_on_with_the_session(connect: Connect, alice: ScriptedUser, done: bool):
    killed = connect("stdio")
    killed.initialize(LINK)
    session = killed.session()
    killed.prompt(session, "wipe_files")
    asked = killed.asked(session)
    os.kill(killed.pid(), signal.SIGKILL)
    killed.wait(lambda line: "closed" in line, "the connection is closed")
    if done:
        alice.submit(link(asked))
    again = connect("stdio")
    again.initialize(LINK)
    again.call("session/load", sessionId=session, cwd="/", mcpServers=[])
    if not done:
        assert again.asked(session)["params"] == asked["params"]
        alice.submit(link(asked))
    assert again.said(session) == "done: all files are deleted"
    assert len(again.received("elicitation/create")) == (0 if done else 1)
    last = connect("websocket")
    last.initialize(LINK)
    last.call("session/load", sessionId=session, cwd="/", mcpServers=[])
    last.turn(session, last.prompt(session, "nothing"))
    assert not any(text.startswith("done") for text in last.chunks(session))
