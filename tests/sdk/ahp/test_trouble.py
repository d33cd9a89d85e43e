"""When the service is away, or has moved on: over real HTTP to one that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from elicit_flows.domain.values import Claim
from elicit_flows.sdk import Cancelled, Completed, Elicit, ElicitError
from tests.sdk.ahp.actions import QUESTIONS, changed, completed, number
from tests.sdk.ahp.chat import BareChat
from tests.sdk.fake import COMPLETED, ELICITATION, SILENCE, FakeService, Reply, problem

pytestmark = pytest.mark.anyio

CREATE = ("POST", "/v1/elicitations")
ONE = ("GET", "/v1/elicitations/el_1")
CANCEL = ("POST", "/v1/elicitations/el_1/cancel")
CONSUME = ("POST", "/v1/elicitations/el_1/consume")
CANCELLED = COMPLETED | {"status": "cancelled", "action": "cancel", "result": None}


@pytest.fixture
async def distant(service: FakeService, anyio_backend: str) -> AsyncIterator[BareChat]:
    async with (
        Elicit(service.url, "key-of-the-tests", retry_for=0.2) as elicit,
        BareChat(elicit, Claim("https://idp.example", "alice")) as chat,
    ):
        service.on(*CONSUME, Reply(COMPLETED), Reply(COMPLETED))
        yield chat


async def test_what_the_service_could_not_keep_is_rejected_without_a_word_about_it(
    service: FakeService, distant: BareChat
) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(ELICITATION), SILENCE)
    _, task = await distant.ask(lambda asks: asks.oauth("acme"))
    assert await distant.say(completed("el_1", "decline")) == "The answer could not be stored. Try again."
    service.on(*CANCEL, Reply(CANCELLED))
    assert await distant.say(completed("el_1", "decline")) is None
    assert not task.done()


async def test_a_turn_whose_end_the_service_did_not_hear_of_is_ended_again(
    service: FakeService, distant: BareChat
) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(ELICITATION), SILENCE)
    await distant.ask(lambda asks: asks.oauth("acme"))
    with pytest.raises(ElicitError):
        await distant.bridge.turn_ended()
    service.on(*CANCEL, Reply(CANCELLED))
    await distant.bridge.turn_ended()
    assert [one.path for one in service.asked].count("/v1/elicitations/el_1/cancel") >= 2
    assert distant.types("session/") == ["session/inputNeededSet", "session/inputNeededRemoved"]


async def test_what_was_done_before_the_turn_ended_is_done(service: FakeService, distant: BareChat) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    wait = partial(asyncio.run_coroutine_threadsafe, loop=loop)
    service.on(*ONE, Reply(ELICITATION), Reply(COMPLETED, when=lambda: wait(told.wait()).result(10)))
    service.on(*CANCEL, problem(409, "already_over"))
    _, task = await distant.ask(lambda asks: asks.oauth("acme"))
    await distant.bridge.turn_ended()
    told.set()
    assert isinstance(await task, Completed)
    assert distant.types("chat/") == ["chat/inputRequested"]


async def test_a_question_that_the_service_refuses_is_not_requested(service: FakeService, distant: BareChat) -> None:
    service.on(*CREATE, problem(422, "invalid"))
    with pytest.raises(ElicitError):
        await distant.bridge.oauth("nobody")
    assert distant.told == []


async def test_what_was_over_before_it_could_be_requested_is_not_requested(
    service: FakeService, distant: BareChat
) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(COMPLETED))
    assert isinstance(await distant.bridge.oauth("acme"), Completed)
    assert distant.told == []


async def test_answers_are_told_together_with_the_questions_that_they_answer(
    service: FakeService, distant: BareChat
) -> None:
    """The form was asked again between the two reads, so both are read again."""
    form = ELICITATION | {"kind": "form", "params": {"questions": QUESTIONS, "shared": True}}
    other = {"id": "size", "kind": "integer", "message": "How big?"}
    asked_again = form | {"seq": 3, "params": {"questions": [other], "shared": True}}
    answered = {"size": {"state": "draft", "value": 4, "seq": 3, "by": "person"}}
    service.on(*CREATE, Reply(form, 201))
    service.on(*ONE, Reply(form), Reply(asked_again), SILENCE)
    draft = {"elicitation": "el_1", "status": "pending", "seq": 3, "answers": answered}
    service.on(ONE[0], f"{ONE[1]}/draft", Reply(draft), Reply(draft))
    request, _ = await distant.ask(lambda asks: asks.form({"type": "object", "properties": {}}, message="Tell me."))
    assert (request["questions"], request["answers"]) == ([other], {"size": number(4, "draft")})


async def test_what_the_page_wrote_right_after_a_client_is_told(service: FakeService, distant: BareChat) -> None:
    form = ELICITATION | {"kind": "form", "params": {"questions": QUESTIONS, "shared": True}}
    page = {"seats": {"state": "draft", "value": 5, "seq": 3, "by": "person"}}
    before, after = ({"elicitation": "el_1", "status": "pending", "seq": seq} for seq in (1, 3))
    written = asyncio.Event()
    wait = partial(asyncio.run_coroutine_threadsafe, loop=asyncio.get_running_loop())
    service.on(*CREATE, Reply(form, 201))
    second = Reply(form | {"seq": 3}, when=lambda: wait(written.wait()).result(10))
    service.on(*ONE, Reply(form), second, SILENCE)
    service.on(ONE[0], f"{ONE[1]}/draft", Reply(before | {"answers": {}}), Reply(after | {"answers": page}))
    service.on("PUT", f"{ONE[1]}/draft/seats", Reply(after | {"answers": page}))
    await distant.ask(lambda asks: asks.form({"type": "object", "properties": {}}, message="Tell me."))
    assert await distant.say(changed("el_1", "seats", number(2, "draft"))) is None
    written.set()
    await distant.until("chat/inputAnswerChanged", answer=number(5, "draft"))


@pytest.mark.parametrize("by_client", [True, False])
async def test_what_is_written_once_it_is_over_for_the_chat_is_not_told(
    service: FakeService, distant: BareChat, by_client: bool
) -> None:
    form = ELICITATION | {"kind": "form", "params": {"questions": QUESTIONS, "shared": True}}
    page = {"seats": {"state": "draft", "value": 5, "seq": 2, "by": "person"}}
    settling, draft = form | {"status": "settling", "seq": 2}, {"elicitation": "el_1", "status": "pending"}
    said = asyncio.Event()
    wait = partial(asyncio.run_coroutine_threadsafe, loop=asyncio.get_running_loop())
    service.on(*CREATE, Reply(form, 201))
    service.on(*CANCEL, Reply(CANCELLED))
    second = Reply(settling, when=lambda: wait(said.wait()).result(10))
    service.on(*ONE, Reply(form), second, Reply(form | {"status": "cancelled", "action": "cancel", "seq": 3}))
    drafts = [Reply(draft | {"seq": 1, "answers": {}}), Reply(draft | {"seq": 2, "answers": page})]
    service.on(ONE[0], f"{ONE[1]}/draft", *drafts)
    _, task = await distant.ask(lambda asks: asks.form({"type": "object", "properties": {}}, message="Tell me."))
    await (distant.say(completed("el_1", "cancel")) if by_client else distant.bridge.turn_ended())
    said.set()
    assert isinstance(await task, Cancelled)
    assert "chat/inputAnswerChanged" not in distant.types()


async def test_what_was_being_asked_when_the_turn_ended_is_not_requested(
    service: FakeService, distant: BareChat
) -> None:
    ended = asyncio.Event()
    wait = partial(asyncio.run_coroutine_threadsafe, loop=asyncio.get_running_loop())
    service.on(*CREATE, Reply(ELICITATION, 201, when=lambda: wait(ended.wait()).result(10)))
    service.on(*CANCEL, Reply(CANCELLED))
    service.on(*ONE, Reply(ELICITATION), Reply(CANCELLED))
    asking = asyncio.ensure_future(distant.bridge.oauth("acme"))
    while not service.asked:
        await asyncio.sleep(0.01)
    await distant.bridge.turn_ended()
    ended.set()
    assert isinstance(await asking, Cancelled)
    assert [one.path for one in service.asked].count("/v1/elicitations/el_1/cancel") == 1
    assert distant.told == []
