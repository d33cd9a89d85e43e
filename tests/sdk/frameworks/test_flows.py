"""What the guards of all frameworks have in common, with a framework that has nothing else: a run ends with Paused."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from elicit_flows.sdk import Completed, Elicit, Elicitation, SyncElicit
from elicit_flows.sdk.frameworks import Answer, FrameworkFlows
from elicit_flows.sdk.frameworks.answers import RUN
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.questions import Plain
from elicit_flows.sdk.testing import ScriptedUser, Service

pytestmark = pytest.mark.anyio

QUESTION = Plain()
NOT_ASKED: Any = None


@dataclass
class Context:
    """``resumed``: the id that whoever resumed the run gave it."""

    call: str
    resumed: str | None = None
    run: str = "run-1"


class Paused(Exception):
    def __init__(self, seen: Elicitation) -> None:
        self.seen = seen


class Flows(FrameworkFlows):
    _contexts = (Context,)

    async def _place(self, context: Context) -> Place:
        return Place(context.run, context.call, context.resumed)

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        raise Paused(seen)


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
async def elicit(elicit_service: Service, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with elicit_service.elicit() as client:
        yield client


@pytest.fixture
def wipe(elicit: Elicit, alice: ScriptedUser, ran: list[str], request: pytest.FixtureRequest) -> Any:
    flows = Flows(alice.claim, elicit, app=request.node.name)

    @flows.confirm("Really?")
    async def wipe(folder: str) -> str:
        ran.append(folder)
        return f"{folder} is gone"

    return wipe


async def paused(tool: Any, *args: Any, **kwargs: Any) -> Elicitation:
    with pytest.raises(Paused) as ended:
        await tool(*args, **kwargs)
    return ended.value.seen


async def submit(user: ScriptedUser, seen: Elicitation) -> None:
    await asyncio.to_thread(user.submit, seen.url)


async def test_a_call_is_one_question_until_it_is_answered(wipe: Any, alice: ScriptedUser, ran: list[str]) -> None:
    first = await paused(wipe, Context("a"), folder="reports")
    again = await paused(wipe, Context("a"), "reports")
    assert again.id == first.id
    others = [
        await paused(wipe, Context("b"), "reports"),
        await paused(wipe, Context("a"), "letters"),
        await paused(wipe, Context("a", run="run-2"), "reports"),
    ]
    assert len({first.id, *(one.id for one in others)}) == 4
    await submit(alice, first)
    assert await wipe(Context("a"), "reports") == "reports is gone"
    assert ran == ["reports"]


async def test_a_no_is_text_for_the_model_however_often_the_run_is_resumed(
    wipe: Any, alice: ScriptedUser, ran: list[str]
) -> None:
    seen = await paused(wipe, Context("a"), "reports")
    await asyncio.to_thread(alice.decline, seen.url)
    for _ in range(2):
        told = await wipe(Context("a", resumed=seen.id), "reports")
        assert told == "declined: The user said no. Do not call this again unless they ask for it."
    assert ran == []


async def test_t203_a_run_is_not_resumed_with_the_answer_to_another_question(
    wipe: Any, alice: ScriptedUser, ran: list[str]
) -> None:
    harmless = await paused(wipe, Context("a"), "scratch")
    await submit(alice, harmless)
    seen = await paused(wipe, Context("b", resumed=harmless.id), "reports")
    assert seen.id != harmless.id
    assert (await paused(wipe, Context("b", resumed="el_unknown"), "reports")).id == seen.id
    assert ran == []


async def test_t203_a_yes_to_one_call_of_a_run_is_none_to_another(
    wipe: Any, alice: ScriptedUser, ran: list[str]
) -> None:
    yes = await paused(wipe, Context("a"), "reports")
    await submit(alice, yes)
    for other in (Context("b"), Context("a", run="run-2")):
        assert (await paused(wipe, other, "reports")).id != yes.id
    assert (await paused(wipe, Context("a"), "letters")).id != yes.id
    assert ran == []


async def test_t204_two_processes_that_resume_a_run_run_the_tool_once(
    wipe: Any, alice: ScriptedUser, ran: list[str]
) -> None:
    seen = await paused(wipe, Context("a"), "reports")
    await submit(alice, seen)
    told = await asyncio.gather(*(wipe(Context("a", resumed=seen.id), "reports") for _ in range(3)))
    assert ran == ["reports"]
    used = "cancelled: Another call with this answer is running the tool, or has run it. Do not call it again for this."
    assert sorted(told) == [used, used, "reports is gone"]


async def test_the_tool_gets_the_outcome_and_the_library_does_not_see_it(elicit: Elicit, alice: ScriptedUser) -> None:
    flows = Flows(lambda context: alice.claim, elicit, app="outcomes")

    @flows.ask(lambda folder: QUESTION.confirm(f"Delete {folder!r}?") if folder != "scratch" else None)
    async def wipe(folder: str, context: Context, done: Completed = NOT_ASKED) -> str:
        """Delete a folder."""
        return f"{context.call} {folder} {done and done.result}"

    assert list(inspect.signature(wipe).parameters) == ["folder", "context"]
    assert (wipe.__name__, wipe.__doc__) == ("wipe", "Delete a folder.")
    assert "done" not in wipe.__annotations__
    assert await wipe("scratch", Context("a")) == "a scratch None"
    seen = await paused(wipe, "reports", Context("a"))
    assert seen.message == "Delete 'reports'?"
    await submit(alice, seen)
    assert await wipe("reports", Context("a")) == "a reports {'confirmed': True}"


async def test_tools_that_are_no_coroutine_functions(elicit_service: Service, alice: ScriptedUser) -> None:
    with elicit_service.sync_elicit() as elicit:
        flows = Flows(alice.claim, elicit, app="blocking")
        wipe = flows.confirm("Really?")(erase)
        with pytest.raises(Paused) as ended:
            await asyncio.to_thread(wipe, Context("a"), "reports")
        await submit(alice, ended.value.seen)
        assert await asyncio.to_thread(wipe, Context("a"), "reports") == "reports is gone"


async def test_an_event_says_which_run_can_go_on(wipe: Any, alice: ScriptedUser, elicit: Elicit) -> None:
    before = await elicit.newest()
    seen = await paused(wipe, Context("a"), "reports")
    await submit(alice, seen)
    flows = Flows(alice.claim, elicit, app=seen.metadata[RUN]["app"])
    async with aclosing(elicit.events(before)) as events:
        async for event in events:
            assert Answer.of(event, "another app") is None
            if answer := flows.answer(event):
                break
    assert (answer.run, answer.call, answer.elicitation.id) == ("run-1", "a", seen.id)
    assert answer.user == (alice.claim.iss, "alice")
    assert answer.said == {"elicitation": seen.id}


async def test_what_cannot_work_is_refused_where_it_is_written(alice: ScriptedUser, elicit: Elicit) -> None:
    flows = Flows(alice.claim, elicit, app="refused")
    guarded = flows.confirm("Really?")(erase)
    with pytest.raises(TypeError, match="A tool has one guard"):
        flows.confirm("Really, really?")(guarded)
    with pytest.raises(TypeError, match="Give a SyncElicit"):
        guarded(Context("a"), "reports")
    with pytest.raises(ValueError, match="Give a name that no other app"):
        Flows(alice.claim, app=" ")

    async def slow(folder: str) -> str:
        return folder

    with SyncElicit("http://127.0.0.1:9", "key") as elicit, pytest.raises(TypeError, match="Give an Elicit"):
        await Flows(alice.claim, elicit, app="refused").confirm("Really?")(slow)(Context("a"), "reports")


def erase(folder: str) -> str:
    return f"{folder} is gone"
