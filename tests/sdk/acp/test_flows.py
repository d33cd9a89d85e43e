"""AcpFlows itself, between the real service and the protocol's Python client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

import acp
import pytest
from acp.schema import ElicitationStringPropertySchema
from pydantic import BaseModel, Field

from elicit_flows.sdk import Cancelled, Completed, Elicit, ElicitError, Expired, Outcome, Questions
from elicit_flows.sdk.acp import AcpFlows, CannotAsk, UnknownAnswer, peer
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.acp.client import BOTH, FORM, LINK
from tests.sdk.acp.connection import Pair, capabilities
from tests.sdk.conftest import Slow
from tests.support.ports import free_port

pytestmark = pytest.mark.anyio
Asks = Callable[[Questions[Awaitable[Outcome]]], Awaitable[Outcome]]
FORM_ASKED = {
    "type": "object", "required": ["seats"],
    "properties": {"seats": {"type": "integer", "minimum": 1, "default": 3}, "note": {"type": "string"}},
}  # fmt: skip


class Trip(BaseModel):
    city: Annotated[str, Field(description="Where to?", examples=["Rome", "Oslo"])]


@pytest.fixture
async def pair(anyio_backend: str) -> AsyncIterator[Pair]:
    async with Pair() as opened:
        yield opened


@pytest.fixture
async def later(anyio_backend: str) -> AsyncIterator[Pair]:
    """Another connection, once the first is gone."""
    async with Pair() as opened:
        yield opened


@pytest.fixture
def flows(pair: Pair, elicit: Elicit, alice: ScriptedUser) -> AcpFlows:
    return AcpFlows(pair.conn, capabilities(LINK), alice.claim, elicit, agent="tests")


def ask(flows: AcpFlows, call: str | None = "call-1", **options: Any) -> asyncio.Task[Outcome]:
    """Alice is asked for a yes in session s-1, while the test goes on."""
    return asyncio.ensure_future(flows.in_session("s-1", call).confirm("May I?", **options))


async def submit(user: ScriptedUser, url: str) -> None:
    await asyncio.to_thread(user.submit, url)


async def nothing_is_open(elicit: Elicit, flows: AcpFlows) -> bool:
    return not await flows.resume("s-1")


@pytest.mark.parametrize(
    "asks",
    [
        lambda ask: ask.oauth("acme", reuse="never"),
        lambda ask: ask.payment(500, "usd", description="A report"),
        lambda ask: ask.credentials([{"name": "key", "label": "Key"}]),
        lambda ask: ask.confirm("May I?"),
        lambda ask: ask.url_action("http://127.0.0.1:9/terms", message="Read this."),
        lambda ask: ask.steps([{"kind": "confirm", "params": {}}] * 2, message="Two things."),
    ],
    ids=["oauth", "payment", "credentials", "confirm", "link", "steps"],
)
async def test_acp_2_nothing_but_a_form_is_asked_in_form_mode(
    pair: Pair, elicit: Elicit, alice: ScriptedUser, asks: Asks
):
    flows = AcpFlows(pair.conn, capabilities(FORM), alice.claim, elicit, agent="tests")
    with pytest.raises(CannotAsk, match=r"elicitation\.url"):
        await asks(flows.in_session("s-1", "call-1"))
    assert pair.person.asked.empty()
    assert await nothing_is_open(elicit, flows)


async def test_acp_7_who_asks_twice_at_once_is_asked_once_and_told_once(
    flows: AcpFlows, pair: Pair, alice: ScriptedUser
):
    both = [ask(flows), ask(flows)]
    await submit(alice, await pair.person.link())
    ended = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(map(_said, ended)) == ["Completed", "already_consumed"]
    assert await pair.person.told()
    assert pair.person.asked.empty()
    assert pair.person.done.empty()


async def test_a_tool_call_asks_anew_once_it_has_acted(flows: AcpFlows, pair: Pair, alice: ScriptedUser):
    links = []
    for _ in range(2):
        asking = ask(flows)
        links.append(await pair.person.link())
        await submit(alice, links[-1])
        assert isinstance(await asking, Completed)
    assert links[0] != links[1]


async def test_without_a_tool_call_each_question_is_its_own(flows: AcpFlows, pair: Pair):
    both = [ask(flows, None), ask(flows, None)]
    assert await pair.person.link() != await pair.person.link()
    for one in both:
        one.cancel()
    await asyncio.gather(*both, return_exceptions=True)


async def test_nobody_answers_in_time(flows: AcpFlows, pair: Pair):
    asking = ask(flows, expires_in=1)
    pair.person.answers.put_nowait(acp.AcceptElicitationResponse(action="accept"))
    assert isinstance(await asking, Expired)
    assert (await pair.person.told()) in await pair.person.link()


async def test_acp_9_a_dead_connection_does_not_end_a_flow_that_goes_on(
    flows: AcpFlows, pair: Pair, alice: ScriptedUser
):
    asking = ask(flows)
    link = await pair.person.link()
    await pair.hang_up()
    await submit(alice, link)
    assert isinstance(await asking, Completed)


@pytest.mark.parametrize("accepted", [False, True])
async def test_the_same_tool_call_on_a_new_connection_goes_on_with_the_same_question(
    flows: AcpFlows, pair: Pair, later: Pair, elicit: Elicit, alice: ScriptedUser, accepted: bool
):
    asking = ask(flows)
    link = await pair.person.link()
    if accepted:
        pair.person.answers.put_nowait(acp.AcceptElicitationResponse(action="accept"))
    await pair.conn.close()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    again = ask(AcpFlows(later.conn, capabilities(LINK), alice.claim, elicit, agent="tests"))
    assert await later.person.link() == link
    await submit(alice, link)
    assert isinstance(await again, Completed)


async def test_t122_another_agent_with_the_same_key_and_session_is_not_answered(
    flows: AcpFlows, pair: Pair, later: Pair, elicit: Elicit, alice: ScriptedUser
):
    payroll = AcpFlows(later.conn, capabilities(LINK), alice.claim, elicit, agent="payroll")
    both = [ask(flows), ask(payroll)]
    link, other = await pair.person.link(), await later.person.link()
    assert link != other
    await submit(alice, link)
    assert isinstance(await both[0], Completed)
    assert not both[1].done()
    await later.conn.close()
    both[1].cancel()
    await asyncio.gather(both[1], return_exceptions=True)
    assert await flows.resume("s-1") == []
    [left] = await AcpFlows(pair.conn, capabilities(LINK), alice.claim, elicit, agent="payroll").resume("s-1")
    assert left.elicitation.url == other
    await elicit.consume(await elicit.cancel(left.elicitation))
    for no_name in ("", " ", None):
        with pytest.raises(ValueError, match="agent: Give a name"):
            AcpFlows(pair.conn, None, alice.claim, elicit, agent=no_name)  # type: ignore[arg-type]


async def test_t142_a_service_that_is_away_is_told_without_its_address(pair: Pair, alice: ScriptedUser):
    port = free_port()
    async with Elicit(f"http://127.0.0.1:{port}", "key", retry_for=0.1) as away:
        flows = AcpFlows(pair.conn, capabilities(LINK), alice.claim, away, agent="tests")
        for asking in (flows.in_session("s-1", "call-1").confirm("May I?"), flows.resume("s-1")):
            with pytest.raises(ElicitError) as refused:
                await asking
            assert refused.value.code == "unreachable"
            assert str(port) not in str(refused.value), "the library sends this text to the client"
            assert str(port) in str(refused.value.__cause__), "the agent's own log has it"


async def test_acp_9_another_user_in_the_same_tool_call_is_asked_another_question(
    flows: AcpFlows, pair: Pair, elicit: Elicit, bob: ScriptedUser
):
    both = [ask(flows), ask(AcpFlows(pair.conn, capabilities(LINK), bob.claim, elicit, agent="tests"))]
    assert await pair.person.link() != await pair.person.link()
    for one in both:
        one.cancel()
    await asyncio.gather(*both, return_exceptions=True)


async def test_acp_13_a_request_that_the_client_cancels_is_taken_back(flows: AcpFlows, pair: Pair, elicit: Elicit):
    asking = ask(flows)
    await pair.person.link()
    pair.person.answers.put_nowait(acp.RequestError(-32800, "Request cancelled"))
    assert isinstance(await asking, Cancelled)
    assert await nothing_is_open(elicit, flows)


@pytest.mark.parametrize("code", [-32601, -32602, -32603])
async def test_acp_8_a_client_that_refuses_the_request_cannot_be_asked(
    flows: AcpFlows, pair: Pair, elicit: Elicit, code: int
):
    asking = ask(flows)
    await pair.person.link()
    pair.person.answers.put_nowait(acp.RequestError(code, "no"))
    with pytest.raises(CannotAsk, match=str(code)):
        await asking
    assert await nothing_is_open(elicit, flows)


@pytest.mark.parametrize(
    ("answer", "action"), [({"action": "_later", "when": 1}, "_later"), ({"action": 5}, ""), ({}, "")]
)
async def test_acp_16_what_cannot_be_read_leaves_the_question_open(
    flows: AcpFlows, pair: Pair, elicit: Elicit, answer: Any, action: str
):
    asking = ask(flows)
    await pair.person.link()
    pair.person.answers.put_nowait(answer)
    with pytest.raises(UnknownAnswer) as unknown:
        await asking
    assert unknown.value.action == action
    assert not (await elicit.get(unknown.value.elicitation)).over
    await elicit.consume(await elicit.cancel(unknown.value.elicitation))


class Unaware(Elicit):
    """Whoever waits for the question from the start has not heard yet how it ended."""

    async def wait(self, elicitation: Any, *, timeout: float | None = None) -> Any:
        if not isinstance(elicitation, str):
            await asyncio.Event().wait()
        return await super().wait(elicitation, timeout=timeout)


@pytest.fixture
async def unaware(elicit_box: Service, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with Unaware(elicit_box.url, elicit_box.api_key) as client:
        yield client


async def test_what_was_done_counts_where_a_no_comes_too_late(pair: Pair, unaware: Elicit, alice: ScriptedUser):
    asking = ask(AcpFlows(pair.conn, capabilities(LINK), alice.claim, unaware, agent="tests"))
    await submit(alice, await pair.person.link())
    pair.person.answers.put_nowait(acp.DeclineElicitationResponse(action="decline"))
    assert isinstance(await asking, Completed)


async def test_what_was_done_before_its_task_was_cancelled_is_found_later(
    pair: Pair, unaware: Elicit, elicit: Elicit, alice: ScriptedUser
):
    asking = ask(AcpFlows(pair.conn, capabilities(LINK), alice.claim, unaware, agent="tests"))
    await submit(alice, await pair.person.link())
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    (found,) = await AcpFlows(pair.conn, capabilities(LINK), alice.claim, elicit, agent="tests").resume("s-1")
    assert isinstance(await found.outcome(), Completed)
    assert pair.person.asked.empty()


async def test_a_client_that_reads_no_more_is_taken_for_gone(
    pair: Pair, elicit: Elicit, alice: ScriptedUser, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(peer, "HEARD_SECONDS", 0.2)
    flows = AcpFlows(pair.conn, capabilities(LINK), alice.claim, elicit, agent="tests")
    asking = ask(flows)
    await pair.person.link()
    pair.transport.pause_reading()
    full = asyncio.ensure_future(pair.conn.ext_notification("much", {"text": "x" * 20_000_000}))
    await asyncio.wait({full}, timeout=0.1)
    asking.cancel()
    await asyncio.wait({asking})
    assert asking.cancelled()
    (found,) = await flows.resume("s-1")
    assert not found.elicitation.over
    await elicit.consume(await elicit.cancel(found.elicitation))
    pair.transport.resume_reading()
    await full


async def test_a_form_goes_by_its_link_where_the_client_can_show_one(pair: Pair, elicit: Elicit, alice: ScriptedUser):
    flows = AcpFlows(pair.conn, capabilities(BOTH), alice.claim, elicit, agent="tests")
    asking = asyncio.ensure_future(flows.in_session("s-1", "call-1").form(FORM_ASKED, message="How many?"))
    link = await pair.person.link()
    await asyncio.to_thread(alice.submit, link, seats=2)
    outcome = await asking
    assert isinstance(outcome, Completed)
    assert outcome.result["content"]["seats"] == 2


async def test_acp_15_a_form_brings_its_defaults_and_its_content_is_checked_again(
    pair: Pair, elicit: Elicit, alice: ScriptedUser
):
    flows = AcpFlows(pair.conn, capabilities(FORM), alice.claim, elicit, agent="tests")
    for content, code in (({"seats": 0}, "invalid"), ({}, "not_submitted"), ({"seats": 2}, None)):
        asking = asyncio.ensure_future(flows.in_session("s-1", "call-1").form(FORM_ASKED, message="How many?"))
        asked = await pair.person.next()
        assert asked.requested_schema.properties["seats"].default == 3
        pair.person.answers.put_nowait(acp.AcceptElicitationResponse(action="accept", content=content))
        if code:
            with pytest.raises(ElicitError) as refused:
                await asking
            assert refused.value.code == code
        else:
            outcome = await asking
            assert isinstance(outcome, Completed)
            assert outcome.result["content"] == {"seats": 2}
    assert pair.person.done.empty()


async def test_an_example_of_a_typed_form_is_in_its_description_since_acp_has_no_member_for_it(
    pair: Pair, elicit: Elicit, alice: ScriptedUser
):
    assert "examples" not in ElicitationStringPropertySchema.model_fields
    flows = AcpFlows(pair.conn, capabilities(FORM), alice.claim, elicit, agent="tests")
    asking = asyncio.ensure_future(flows.in_session("s-1", "call-1").form(Trip, message="Which?"))
    asked = await pair.person.next()
    assert asked.requested_schema.properties["city"].description == "Where to? For example: Rome, Oslo"
    pair.person.answers.put_nowait(acp.AcceptElicitationResponse(action="accept", content={"city": "Oslo"}))
    assert (await asking).data == Trip(city="Oslo")


async def test_a_form_in_the_client_is_taken_back_with_its_task(pair: Pair, elicit: Elicit, alice: ScriptedUser):
    flows = AcpFlows(pair.conn, capabilities(FORM), alice.claim, elicit, agent="tests")
    asking = asyncio.ensure_future(flows.in_session("s-1", "call-1").form(FORM_ASKED, message="How many?"))
    await pair.person.next()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert asking.cancelled()
    assert await nothing_is_open(elicit, flows)
    assert pair.person.done.empty()


async def test_a_question_that_is_being_created_is_taken_back_with_its_task(
    pair: Pair, slow: Slow, alice: ScriptedUser
):
    flows = AcpFlows(pair.conn, capabilities(LINK), alice.claim, slow, agent="tests")
    asking = ask(flows, None)
    made = await slow.created.get()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert asking.cancelled()
    assert (await slow.get(made)).status == "cancelled"
    assert await nothing_is_open(slow, flows)
    assert pair.person.asked.empty()


async def test_a_form_whose_client_has_gone_stays_open_for_its_next_connection(
    pair: Pair, later: Pair, elicit: Elicit, alice: ScriptedUser
):
    flows = AcpFlows(pair.conn, capabilities(FORM), alice.claim, elicit, agent="tests")
    asking = asyncio.ensure_future(flows.in_session("s-gone", "call-1").form(FORM_ASKED, message="How many?"))
    await pair.person.next()
    await pair.conn.close()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    (found,) = await AcpFlows(later.conn, capabilities(FORM), alice.claim, elicit, agent="tests").resume("s-gone")
    again = asyncio.ensure_future(found.outcome())
    await later.person.next()
    later.person.answers.put_nowait(acp.AcceptElicitationResponse(action="accept", content={"seats": 2}))
    assert isinstance(await again, Completed)


async def test_a_form_that_has_ended_when_the_client_hands_it_in_has_the_outcome_of_its_end(
    pair: Pair, elicit: Elicit, alice: ScriptedUser, monkeypatch: pytest.MonkeyPatch
):
    flows = AcpFlows(pair.conn, capabilities(FORM), alice.claim, elicit, agent="tests")
    monkeypatch.setattr(elicit, "wait", lambda asked: asyncio.sleep(60, asked))  # it has not heard of the end yet
    asking = asyncio.ensure_future(flows.in_session("s-late", "call-1").form(FORM_ASKED, message="How many?"))
    await pair.person.next()
    waiting = [one async for one in elicit.elicitations(alice.claim, status="pending")]
    (found,) = [one for one in waiting if "s-late" in str(one.metadata.get("acp"))]  # others may have left some
    await elicit.cancel(found)
    pair.person.answers.put_nowait(acp.AcceptElicitationResponse(action="accept", content={"seats": 2}))
    assert isinstance(await asking, Cancelled)


async def test_what_the_user_gave_before_is_not_asked_for_even_where_nothing_can_be_asked(
    flows: AcpFlows, pair: Pair, elicit: Elicit, alice: ScriptedUser
):
    asking = asyncio.ensure_future(flows.in_session("s-1", "call-1").oauth("acme", reuse="never"))
    await asyncio.to_thread(alice.allow, await pair.person.link())
    assert isinstance(await asking, Completed)
    poor = AcpFlows(pair.conn, None, alice.claim, elicit, agent="tests")
    outcome = await poor.in_session("s-1", "call-2").oauth("acme")
    assert isinstance(outcome, Completed)
    assert outcome.reused


async def test_resume_tells_what_was_asked_and_for_which_tool_call(
    flows: AcpFlows, pair: Pair, later: Pair, elicit: Elicit, alice: ScriptedUser
):
    turns = [ask(flows, call, metadata={"tool": call}) for call in ("call-1", "call-2")]
    links = [await pair.person.link() for _ in turns]
    assert not await flows.resume("s-1"), "on this connection they are being asked"
    await pair.conn.close()
    after = AcpFlows(later.conn, capabilities(LINK), alice.claim, elicit, agent="tests")
    resumed = {one.tool_call_id: one for one in await after.resume("s-1")}
    assert {call: one.elicitation.metadata["tool"] for call, one in resumed.items()} == {
        "call-1": "call-1", "call-2": "call-2",
    }  # fmt: skip
    assert not await after.resume("s-2")
    asking = [asyncio.ensure_future(one.outcome()) for one in resumed.values()]
    assert {await later.person.link() for _ in asking} == set(links)
    for link in links:
        await submit(alice, link)
    ended = await asyncio.gather(*turns, *asking, return_exceptions=True)
    assert sorted(map(_said, ended)) == ["Completed"] * 2 + ["already_consumed"] * 2
    assert not await after.resume("s-1")


def _said(ended: object) -> str:
    return ended.code if isinstance(ended, ElicitError) else type(ended).__name__


async def test_a_client_of_the_service_that_was_given_stays_open(pair: Pair, elicit: Elicit, alice: ScriptedUser):
    async with AcpFlows(pair.conn, capabilities(LINK), alice.claim, elicit, agent="tests"):
        pass
    assert await elicit.connections(alice.claim) is not None


async def test_it_finds_the_service_in_the_environment(
    pair: Pair, elicit_box: Service, alice: ScriptedUser, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ELICIT_URL", elicit_box.url)
    monkeypatch.setenv("ELICIT_API_KEY", elicit_box.api_key)
    async with AcpFlows(pair.conn, capabilities(LINK), (elicit_box.sandbox_url, "alice"), agent="tests") as flows:
        asking = ask(flows)
        await submit(alice, await pair.person.link())
        assert isinstance(await asking, Completed)
