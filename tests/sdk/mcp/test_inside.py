"""Questions from inside a tool, and guards that ask what earlier ones brought."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest
from mcp.server.mcpserver import Context

from elicit_flows.sdk import Elicit
from elicit_flows.sdk.mcp.asking import Run
from elicit_flows.sdk.mcp.calls import TOOL, Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.functions import Function
from elicit_flows.sdk.mcp.pending_question import Earlier
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.fake import FakeService
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Json, Legacy, Modern, text
from tests.sdk.mcp.test_cases import (
    _nothing_ran_before,  # noqa: F401
    called,
    link,
    link_in,
    played,
)
from tests.sdk.mcp.test_tasks import Client
from tests.support.machine import within
from tests.support.process import until

USED = "cancelled: Another call with this answer"


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    """For alice alone; a call waits a second for her."""
    return new_tools(settings={"hold": within(1), "rounds": 4, "ask_again_after": 0})


@pytest.fixture
def answers(alice: ScriptedUser) -> Callable[[str], object]:
    """Yes to a confirm, and the plan ``pro`` in a form."""

    def answer(url: str) -> None:
        try:
            alice.submit(url, plan="pro")
        except AssertionError:  # a confirm has no such field
            alice.submit(url)

    return answer


def there(tools: Tools, folder: str, files: str) -> Json:
    tools._ran.with_name(folder).write_text(files)
    return {"folder": folder}


def test_a_tool_looks_then_asks_twice_and_runs_once(
    tools: Tools, newer: bool, answers: Callable[[str], object]
) -> None:
    folder = f"look{newer}"
    answer = played(tools, newer, "tidy", answers, {"folder": folder})
    assert text(answer) == f"done: tidied {folder} pro"
    *looked, last = tools.ran
    assert set(looked) == {f"looked {folder}"}
    assert last == f"tidied {folder} pro"


def test_a_guard_asks_what_the_one_above_it_brought(
    tools: Tools, newer: bool, answers: Callable[[str], object]
) -> None:
    answer = played(tools, newer, "chosen", answers, {"folder": f"f{newer}"})
    assert text(answer) == f"done: Take pro for f{newer}? pro"


def test_a_no_inside_ends_the_call_and_the_rest_does_not_run(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    answer = played(tools, newer, "tidy", alice.decline, {"folder": f"no{newer}"})
    assert text(answer).startswith("declined: ")
    assert set(tools.ran) == {f"looked no{newer}"}


def test_a_tool_that_wants_the_no_gets_it(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    answer = played(tools, newer, "careful", alice.decline, {"folder": f"c{newer}"})
    assert text(answer) == f"done: kept c{newer}: declined"


def test_a_confirm_marks_its_tool_as_destructive(tools: Tools, newer: bool) -> None:
    answer = (Modern(tools.url) if newer else Legacy(tools.url)).request("tools/list", {})
    told = {tool["name"]: tool.get("annotations") for tool in answer["result"]["tools"]}
    assert told["burn"] == {"destructiveHint": True}
    assert told["both"] == {"title": "Both", "destructiveHint": False}, "the author has the last word"
    assert told["count"] is None


def test_a_tool_without_a_guard_is_told_to_get_one(tools: Tools, newer: bool) -> None:
    assert "@flows.guard" in text(called(tools, newer, "unguarded"))


@pytest.mark.parametrize("can", [{}, {"elicitation": {"url": {}}}])
def test_the_same_call_goes_on_where_it_was_without_a_state_too(
    tools: Tools, newer: bool, answers: Callable[[str], object], can: Json
) -> None:
    """The guard's answer is used up by then, and the user is not asked for it again."""
    folder = {"folder": f"anew{newer}{bool(can)}"}
    links: list[str] = []
    for _ in range(2):
        answer = called(tools, newer, "paid", folder, can=can)
        links.append(link(answer) if "inputRequests" in answer["result"] else link_in(text(answer)))
        answers(links[-1])
    assert text(called(tools, newer, "paid", folder, can=can)).startswith("done: paid")
    assert len(set(links)) == 2
    assert len(tools.ran) == 1
    again = called(tools, newer, "paid", folder, can=can)
    first = link(again) if "inputRequests" in again["result"] else link_in(text(again))
    assert first not in links, "a new call begins with the first question"
    assert tools.ran == []


def test_t177_an_answer_from_inside_runs_the_rest_once(tools: Tools, answers: Callable[[str], object]) -> None:
    """Neither the last retry nor an earlier one, sent again, runs it again; and the first answer is used once."""
    modern, folder = Modern(tools.url), {"folder": "replay"}
    first = modern.call("paid", folder)
    answers(link(first))
    second = modern.retry(first, "paid", folder)
    answers(link(second))
    assert text(modern.retry(second, "paid", folder)).startswith("done: paid")
    for earlier in (second, first):
        assert text(modern.retry(earlier, "paid", folder)).startswith(USED)
    assert len(tools.ran) == 1


@pytest.mark.anyio
async def test_t177_a_state_of_another_call_is_refused_even_where_the_library_takes_it(service: FakeService) -> None:
    state = {"run": "another", "passed": {"0": "el_1"}, "spent": True, "place": 1, "id": "el_2", "key": "k"}
    settings = Settings(user=("https://idp.example", "alice"), server="files")
    call = SimpleNamespace(
        state=state, token=None, who="", method=TOOL, modern=True, server=lambda _: ["files"], left=lambda _: 0,
        bad_state=lambda: PermissionError("not yours"),
    )  # fmt: skip
    async with Elicit(service.url, "key-of-the-tests", max_retries=0) as elicit:
        asker = SimpleNamespace(elicit=lambda: elicit, settings=settings, earlier=Earlier())
        run = Run(cast(Asker, asker), Function.of(anything), cast(Call, call), {}, 0)
        with pytest.raises(PermissionError, match="not yours"):
            await run.resume()
    assert service.asked == []


async def anything(context: Context) -> str:
    return str(context)


def test_t177_a_state_of_a_call_with_other_arguments_is_refused(tools: Tools, answers: Callable[[str], object]) -> None:
    modern = Modern(tools.url)
    asked = modern.retry(confirmed(modern, answers, "mine"), "paid", {"folder": "mine"})
    answers(link(asked))
    more = {"inputResponses": {}, "requestState": asked["result"]["requestState"]}
    assert modern.call("paid", {"folder": "other"}, **more)["error"]["code"] == -32602
    assert tools.ran == []


def test_t177_a_yes_to_twelve_files_is_none_to_thirteen(tools: Tools, answers: Callable[[str], object]) -> None:
    modern = Modern(tools.url)
    folder = there(tools, "changing", "12")
    twelve = modern.retry(confirmed(modern, answers, "changing"), "paid", folder)
    answers(link(twelve))
    there(tools, "changing", "13")
    thirteen = modern.retry(twelve, "paid", folder)
    assert "13" in str(thirteen["result"]["inputRequests"])
    assert tools.ran == []
    assert text(modern.retry(twelve, "paid", folder)).startswith(USED), "it asks for thirteen once only"
    answers(link(thirteen))
    assert text(modern.retry(thirteen, "paid", folder)).startswith("done: paid")
    assert len(tools.ran) == 1


def confirmed(modern: Modern, answers: Callable[[str], object], folder: str) -> Json:
    asked = modern.call("paid", {"folder": folder})
    answers(link(asked))
    return asked


def test_a_task_asks_from_inside_as_well(tools: Tools, answers: Callable[[str], object]) -> None:
    client = Client(tools.url)
    task = client.begin("tidy", {"folder": "task"})
    answers(client.link(task))
    until(lambda: client.stands(task)["status"] == "input_required", "the next question")
    answers(client.link(task))
    assert client.said(task) == "done: tidied task pro"
    assert tools.ran[-1] == "tidied task pro"
