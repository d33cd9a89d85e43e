"""What a call says that did not run its tool, to a model and to a program, and how long it takes to say so."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Json, Legacy, Modern, text
from tests.sdk.mcp.test_cases import (
    _nothing_ran_before,  # noqa: F401
    called,
    link,
    link_in,
    name_in,
    played,
)
from tests.sdk.mcp.test_tasks import Client
from tests.support.machine import within
from tests.support.ports import free_port
from tests.support.process import PROJECT, until

pytestmark = pytest.mark.slow

MARK = "elicit-flows/outcome"
FREE, SHAPED = ["as_it_comes"], ["as_dict", "as_model", "as_content", "count"]
EVERY = ["wipe", *FREE, *SHAPED]
ADDRESS = "127.0.0.1:9"


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    """For alice alone; a call waits two seconds for her, and says so each half."""
    return new_tools(settings={"hold": 2, "rounds": 2, "progress_every": 0.5, "ask_again_after": 2})


@pytest.fixture(scope="module")
def forgetful(new_tools: Callable[..., Tools]) -> Tools:
    """Asks again at once who declined."""
    return new_tools(name="forgetful", settings={"ask_again_after": 0.1})


def mark(answer: Json) -> Json:
    found: Json = answer["result"]["_meta"][MARK]
    return found


def check(answer: Json, tool: str, verdict: str, url: str = "") -> Json:
    """The mark of a result that says ``verdict`` in all the ways that its tool's type leaves it."""
    result, marked = answer["result"], mark(answer)
    assert text(answer).startswith(f"{verdict}: ")
    assert marked["outcome"] == verdict
    assert result.get("isError", False) is (tool in SHAPED)
    if tool == "wipe":  # in TypeScript a tool that returns text has no schema, and the text no place in it
        assert result["structuredContent"] in ({"result": text(answer), **marked}, marked)
    else:
        assert result.get("structuredContent") == (marked if tool in FREE else None)
    if url:
        assert marked["elicitation"] == name_in(url)
    return marked


@pytest.mark.slow
@pytest.mark.parametrize("tool", EVERY)
def test_a_program_reads_that_it_waits_whatever_the_tool_gives(tools: Tools, newer: bool, tool: str) -> None:
    answer = called(tools, newer, tool, can={})
    url = link_in(text(answer))
    assert check(answer, tool, "waiting", url)["url"] == url
    assert tools.ran == []


@pytest.mark.slow
@pytest.mark.parametrize("tool", EVERY)
def test_a_program_reads_that_it_was_declined_whatever_the_tool_gives(
    forgetful: Tools,
    alice: ScriptedUser,
    newer: bool,
    tool: str,
) -> None:
    links: list[str] = []

    def decline(url: str) -> None:
        links.append(url)
        alice.decline(url)

    answer = played(forgetful, newer, tool, decline, {"disk": f"d{newer}"} if tool == "wipe" else None)
    check(answer, tool, "declined", *links)
    assert forgetful.ran == []
    time.sleep(0.2)


@pytest.mark.parametrize("tool", EVERY)
def test_a_program_reads_that_it_was_taken_back(tools: Tools, newer: bool, tool: str) -> None:
    if newer:
        modern = Modern(tools.url)
        asked = modern.call(tool)
        no = {key: {"action": "cancel"} for key in asked["result"]["inputRequests"]}
        answer = modern.retry(asked, tool, inputResponses=no)
    else:
        answer = Legacy(tools.url).call(tool, action="cancel")
    assert check(answer, tool, "cancelled")["reason"] == "cancelled"


def test_what_runs_has_no_mark(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    answer = played(tools, newer, "as_model", alice.submit)
    assert answer["result"]["structuredContent"] == {"pages": 1}
    assert MARK not in answer["result"].get("_meta", {})


# A no is a no.


@pytest.mark.slow
def test_who_declined_is_not_asked_again_by_the_same_call_for_a_while(
    tools: Tools, alice: ScriptedUser, newer: bool
) -> None:
    """In the page or in the client."""
    page, client = ({"disk": f"no {where} {newer}"} for where in ("page", "client"))
    played(tools, newer, "wipe", alice.decline, page)
    for _ in range(2):
        assert check(called(tools, newer, "wipe", page), "wipe", "declined")
    if newer:
        asked = Modern(tools.url).call("wipe", client)
        no = {key: {"action": "decline"} for key in asked["result"]["inputRequests"]}
        assert text(Modern(tools.url).retry(asked, "wipe", client, inputResponses=no)).startswith("declined:")
    else:
        assert text(Legacy(tools.url).call("wipe", client, action="decline")).startswith("declined:")
    for _ in range(2):
        assert check(called(tools, newer, "wipe", client), "wipe", "declined")
    time.sleep(2.1)
    for disk in (page, client):
        if newer:
            assert "inputRequests" in Modern(tools.url).call("wipe", disk)["result"]
        else:
            session = Legacy(tools.url)
            session.call("wipe", disk, action="cancel")
            assert len(session.asked) == 1, "later they may be"
    assert tools.ran == []


def test_a_no_that_nobody_was_told_of_is_told_however_old_it_is(tools: Tools, alice: ScriptedUser) -> None:
    disk = {"disk": "an old no"}
    alice.decline(link_in(text(called(tools, True, "wipe", disk, can={}))))
    time.sleep(2.2)
    assert check(called(tools, True, "wipe", disk, can={}), "wipe", "declined")


# Two at once.


def test_the_second_of_two_calls_with_one_answer_is_told_not_to_call_again(
    tools: Tools,
    alice: ScriptedUser,
    newer: bool,
) -> None:
    arguments = {"seconds": 1.0 + newer / 10}
    answers: list[Json] = []

    def together(*calls: Callable[[], Json]) -> list[threading.Thread]:
        threads = [threading.Thread(target=lambda call=call: answers.append(call())) for call in calls]
        for thread in threads:
            thread.start()
        return threads

    if newer:
        asked = Modern(tools.url).call("slow", arguments)
        alice.submit(link(asked))
        threads = together(*[lambda: Modern(tools.url).retry(asked, "slow", arguments)] * 2)
    else:
        sessions = [Legacy(tools.url) for _ in range(2)]
        threads = together(*[lambda session=session: session.call("slow", arguments) for session in sessions])
        until(lambda: all(session.asked for session in sessions), "both are asked")
        alice.submit(sessions[0].asked[0]["url"])
    for thread in threads:
        thread.join()
    done, told = sorted(answers, key=lambda one: "done:" not in text(one))
    assert text(done) == "done: slow ended"
    assert check(told, "wipe", "cancelled")["reason"] == "already_used"
    assert "Do not call it again" in text(told)
    assert tools.ran == ["slow began", "slow ended"]


# In time.


def test_all_guards_of_a_call_share_its_time(tools: Tools, alice: ScriptedUser) -> None:
    """Of three questions two are answered shortly before the time is over."""
    session = Legacy(tools.url)

    people: list[threading.Timer] = []

    def late(url: str) -> None:
        people.append(threading.Timer(0.8, alice.submit, [url]))
        people[-1].start()

    began = time.monotonic()
    answer = session.call("thrice", {"disk": uuid.uuid4().hex}, then=late)
    lasted = time.monotonic() - began
    for person in people:
        person.join()
    check(answer, "wipe", "waiting")
    assert 1.5 < lasted < within(4), "two seconds and what the machine takes, for all of them"
    assert tools.ran == []


def progress(told: list[Json], token: object) -> list[Json]:
    sent = [one["params"] for one in told if one["method"] == "notifications/progress"]
    assert {one["progressToken"] for one in sent} <= {token}
    return sent


def waited(client: Any, disk: Json, *, token: str = "") -> Json:
    """The answer to a call that the user does nothing about. ``token``: for progress."""
    if isinstance(client, Modern):
        return client.retry(client.call("wipe", disk), "wipe", disk, token=token)
    about = {"_meta": {"progressToken": token}} if token else {}
    answer: Json = client.request("tools/call", {"name": "wipe", "arguments": disk, **about})
    return answer


def test_a_client_that_wants_to_know_hears_that_the_call_goes_on(tools: Tools, newer: bool) -> None:
    """And who gave no token hears nothing. Both call at once."""
    told, untold = ((Modern if newer else Legacy)(tools.url) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        silent = pool.submit(waited, untold, {"disk": f"silence {newer}"})
        waited(told, {"disk": f"progress {newer}"}, token="t-1")
        silent.result()
    sent = progress(told.told, "t-1")
    assert 2 <= len(sent) <= 4
    steps = [one["progress"] for one in sent]
    assert steps == sorted(set(steps)), "each is more than the one before"
    assert {one["message"] for one in sent} == {"Waiting for the user."}
    assert progress(untold.told, None) == []


# Nothing of the machine's inside.


def private(service: str, answer: Json) -> bool:
    said = json.dumps(answer)
    return not any(word in said for word in (service, service.rpartition(":")[2], "127.0.0.1", "Traceback", "httpx"))


@pytest.fixture(scope="module")
def lost(new_tools: Callable[..., Tools]) -> Tools:
    """Its service is not there."""
    return new_tools(at=f"http://127.0.0.1:{free_port()}", retry_for=0.2)


@pytest.mark.parametrize("tool", ["wipe", "as_dict", "as_it_comes"])
def test_t142_a_service_that_is_away_is_said_without_its_address(lost: Tools, newer: bool, tool: str) -> None:
    said = len(lost.process.output())
    answer = called(lost, newer, tool)
    assert text(answer).startswith("unavailable: ")
    assert mark(answer) == {"outcome": "unavailable", "reason": "unreachable"}
    assert answer["result"]["isError"] is True
    assert private(lost.process.env["ELICIT_URL"], answer)
    assert lost.process.env["ELICIT_URL"] in lost.process.output()[said:], "the log has it"
    assert lost.ran == []


def test_t142_neither_is_what_a_tool_asks_of_it_itself(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    answer = played(tools, newer, "looks_up", alice.submit)
    assert text(answer).startswith("failed: ")
    assert mark(answer) == {"outcome": "failed", "reason": "unreachable"}
    assert ADDRESS not in json.dumps(answer)
    assert ADDRESS in tools.process.output()


def test_t142_neither_does_the_list_of_tools(lost: Tools, newer: bool) -> None:
    client: Any = Modern(lost.url) if newer else Legacy(lost.url)
    listed = client.request("tools/list", {})
    names = {tool["name"] for tool in listed["result"]["tools"]}
    assert "plain" in names
    assert "files" not in names
    assert private(lost.process.env["ELICIT_URL"], listed)


@pytest.mark.slow
def test_t142_neither_does_a_task(new_tools: Callable[..., Tools]) -> None:
    server = new_tools(retry_for=0.2)
    task = Client(server.url).begin("wipe", {"disk": "a task"})
    server.process.stop()
    server.process.env["ELICIT_URL"] = f"http://127.0.0.1:{free_port()}"
    server.start()
    answer = Client(server.url).task("get", task)
    assert answer["error"] == {"code": -32603, "message": "Tasks are not available at the moment. Try again later."}
    assert server.process.env["ELICIT_URL"] in server.process.output()


def test_the_page_says_what_a_call_answers() -> None:
    page = (PROJECT / "docs/how-to/mcp-server.md").read_text()
    for verdict in ("declined", "cancelled", "waiting", "refused", "unavailable", "failed"):
        assert f"`{verdict}:`" in page
    assert MARK in page
