"""A4 and A6: how long a guarded call lasts, and what a program can read of one whose tool did not run."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Json, Legacy, Modern, text
from tests.sdk.mcp.test_cases import called, link, played
from tests.support.ports import free_port
from tests.support.process import until

HOLD = 4


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    """For alice alone; a call waits four seconds for her."""
    return new_tools(settings={"hold": HOLD, "rounds": 2})


def for_programs(answer: Json) -> str:
    """What a result has besides its text, as JSON."""
    result = answer["result"]
    return json.dumps([result.get("_meta"), result.get("structuredContent")])


def test_all_guards_of_a_call_share_its_time(tools: Tools, alice: ScriptedUser) -> None:
    """``hold`` is what one call waits; each of three questions takes half of it to be answered."""
    people: list[threading.Timer] = []

    def late(url: str) -> None:
        people.append(threading.Timer(HOLD / 2, alice.submit, [url]))
        people[-1].start()

    began = time.monotonic()
    answer = Legacy(tools.url).call("thrice", {"disk": uuid.uuid4().hex}, then=late)
    lasted = time.monotonic() - began
    for person in people:
        person.join()
    tools.ran  # noqa: B018  it is read, and so emptied
    assert text(answer).startswith("waiting:"), f"the call lasted {lasted:.1f} s and held for {HOLD} each time"


def test_a_client_that_wants_to_know_hears_that_the_call_goes_on(new_tools: Callable[..., Tools]) -> None:
    """Clients have a time-out that progress sets back: thirty or sixty seconds with most."""
    session = Legacy(new_tools(settings={"hold": 12}).url)
    params = {"name": "wipe", "arguments": {"disk": "progress"}, "_meta": {"progressToken": "t-1"}}
    session.request("tools/call", params)
    assert "notifications/progress" in [one["method"] for one in session.told]


@pytest.mark.parametrize("tool", ["wipe", "as_dict"])
def test_a_program_reads_that_it_was_declined_whatever_the_tool_gives(
    tools: Tools, alice: ScriptedUser, newer: bool, tool: str
) -> None:
    answer = played(tools, newer, tool, alice.decline)
    assert "declined: " in text(answer)
    assert '"declined"' in for_programs(answer), "there is a sentence alone"
    assert tools.ran == []


def test_the_second_of_two_calls_with_one_answer_is_told_not_to_call_again(tools: Tools, alice: ScriptedUser) -> None:
    arguments = {"seconds": 1.0}
    asked = Modern(tools.url).call("slow", arguments)
    alice.submit(link(asked))
    answers: list[Json] = []

    def retry() -> None:
        answers.append(Modern(tools.url).retry(asked, "slow", arguments))

    threads = [threading.Thread(target=retry) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done, told = sorted(answers, key=lambda one: "done:" not in text(one))
    assert text(done) == "done: slow ended"
    until(lambda: tools.ran, "the log is read")
    assert "Call the tool anew" not in text(told), "the model is told to do it twice"


@pytest.mark.parametrize("tool", ["wipe", "as_dict"])
def test_t142_a_service_that_is_away_is_said_without_its_address(
    new_tools: Callable[..., Tools], newer: bool, tool: str
) -> None:
    lost = new_tools()
    lost.process.stop()
    port = free_port()
    lost.process.env["ELICIT_URL"] = f"http://127.0.0.1:{port}"
    lost.start()
    answer = called(lost, newer, tool)
    assert str(port) not in json.dumps(answer), "the model reads the service's address"
