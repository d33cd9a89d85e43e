"""The service and the agent are restarted while somebody waits: the real processes, and a person who answers after."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from elicit_flows.sdk import Completed, Elicit, ElicitError, Event, SyncElicit
from tests.cast import ALICE
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import PROJECT, Process

pytestmark = pytest.mark.slow

AGENT = """
import asyncio, sys
from elicit_flows.sdk import Elicit

def show(url):
    print("link", url, flush=True)

async def main(url, key, iss):
    async with Elicit(url, key) as elicit:
        outcome = await elicit.confirm((iss, "alice"), message="May I?", on_url=show, idempotency_key="the-one-call")
        print("outcome", type(outcome).__name__, outcome.elicitation.id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def fragile(new_box: Callable[..., Box]) -> Iterator[Box]:
    box = new_box("embedded")
    yield box
    box.remove()


@pytest.fixture
def agent(fragile: Box) -> AgentClient:
    return fragile.fresh_agent()


def crash_twice(box: Box) -> None:
    for _ in range(2):
        box.kill9()
        box.restart()


def deploy(box: Box) -> None:
    box.restart()


@pytest.fixture
async def elicit(fragile: Box, agent: AgentClient, anyio_backend: str) -> AsyncGenerator[Elicit, None]:
    async with Elicit(fragile.url, agent.api_key) as client:
        yield client


async def say_yes(http_user: HttpUser, link: str) -> None:
    await asyncio.to_thread(
        lambda: http_user.open(link) and http_user.carry_on("signin", "alice", "continue", "submit")
    )


@pytest.mark.anyio
@pytest.mark.parametrize("harm", [crash_twice, deploy])
async def test_a_wait_goes_on_through_a_restart_of_the_service(
    fragile: Box, elicit: Elicit, corp: Op, http_user: HttpUser, harm: Callable[[Box], None]
) -> None:
    shown = asyncio.Queue[str]()
    asking = asyncio.create_task(
        elicit.confirm((corp.issuer, ALICE.sub), message="May I?", on_url=shown.put, timeout=40)
    )
    link = await shown.get()
    await asyncio.to_thread(harm, fragile)
    await say_yes(http_user, link)
    assert isinstance(await asking, Completed)


@pytest.mark.anyio
@pytest.mark.parametrize(("harm", "streamed"), [(crash_twice, True), (crash_twice, False), (deploy, True)])
async def test_events_go_on_through_a_restart_without_gap_or_repetition(
    fragile: Box, elicit: Elicit, corp: Op, harm: Callable[[Box], None], streamed: bool
) -> None:
    asked: list[str] = []

    async def ask() -> None:
        made = await elicit.create("confirm", (corp.issuer, ALICE.sub), {}, message="May I?")
        asked.append(made.id)

    async with aclosing(elicit.events(stream=streamed)) as events:
        await ask()
        await ask()
        seen = [await anext(events), await anext(events)]
        following = asyncio.create_task(_next(events))
        await asyncio.to_thread(harm, fragile)
        await ask()
        await ask()
        seen += [await following, await anext(events)]
    assert [one.elicitation for one in seen] == asked


async def _next(events: AsyncGenerator[Event, None]) -> Event:
    return await anext(events)


@pytest.mark.anyio
async def test_a_new_reader_goes_on_behind_the_cursor_that_the_last_one_kept(
    fragile: Box, elicit: Elicit, agent: AgentClient, corp: Op
) -> None:
    ids = [(await elicit.create("confirm", (corp.issuer, ALICE.sub), {}, message="May I?")).id for _ in range(4)]
    async with aclosing(elicit.events()) as events:
        before = [await anext(events), await anext(events)]
    async with Elicit(fragile.url, agent.api_key) as another:
        events = another.events(before[-1].cursor, stream=False)
        after = [await anext(events), await anext(events)]
        await events.aclose()
    assert [event.elicitation for event in before + after] == ids


@pytest.fixture
def program(fragile: Box, agent: AgentClient, corp: Op, tmp_path: Path) -> Iterator[Process]:
    """An agent of one question, as a process of its own."""
    command = [sys.executable, "-c", AGENT, fragile.url, agent.api_key, corp.issuer]
    process = Process(command, tmp_path / "log", env={"PYTHONPATH": str(PROJECT)})
    yield process
    process.kill9()


def test_an_agent_that_was_killed_asks_the_same_question_again_under_its_key(
    program: Process, http_user: HttpUser
) -> None:
    program.start()
    link = program.wait_for_output(r"link (\S+)").group(1)
    program.kill9()
    program.start()
    assert program.wait_for_output(r"link (\S+)").group(1) == link
    http_user.open(link)
    http_user.carry_on("signin", "alice", "continue", "submit")
    assert program.wait_for_output(r"outcome (\w+)").group(1) == "Completed"
    program.kill9()
    program.start()
    again = program.wait_for_output(r"outcome (\w+) (\S+)")
    assert (again.group(1), again.group(2)) == ("Completed", link.rpartition("/")[2])


@pytest.mark.anyio
async def test_of_two_agents_with_the_same_answer_one_acts(
    elicit: Elicit, fragile: Box, corp: Op, http_user: HttpUser
) -> None:
    asked = await elicit.create("confirm", (corp.issuer, ALICE.sub), {}, message="May I?", idempotency_key="call-17")
    http_user.open(asked.url)
    http_user.carry_on("signin", "alice", "continue", "submit")
    over = await elicit.wait(asked)
    assert over.consumed_at is None
    taken = await elicit.consume(over, key="run-1")
    fragile.restart()
    assert (await elicit.get(asked)).consumed_at == taken.consumed_at
    assert await elicit.consume(asked, key="run-1") == taken
    with pytest.raises(ElicitError) as refused:
        await elicit.consume(asked)
    assert (refused.value.status, refused.value.code) == (409, "already_consumed")
    anew = await elicit.create("confirm", (corp.issuer, ALICE.sub), {}, message="May I?", idempotency_key="call-17")
    assert (anew.id != asked.id, anew.over) == (True, False)


def test_a_new_client_goes_on_waiting_for_the_same_id(
    fragile: Box, agent: AgentClient, corp: Op, http_user: HttpUser
) -> None:
    with SyncElicit(fragile.url, agent.api_key) as before:
        asked = before.create("confirm", (corp.issuer, ALICE.sub), {}, message="May I?")
        assert not before.wait(asked, timeout=0.2).over
    http_user.open(asked.url)
    http_user.carry_on("signin", "alice", "continue", "submit")
    with SyncElicit(fragile.url, agent.api_key) as after:
        assert after.wait(asked.id, timeout=10).over
