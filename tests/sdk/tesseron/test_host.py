"""What is asked in the model host: rows T-1 to T-10, with every answer that a gateway may give."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.domain.values import Json
from elicit_flows.sdk.tesseron import ActionQuestions, TesseronFlows
from elicit_flows.sdk.tesseron.pending_question import PendingQuestions
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.conftest import Slow
from tests.sdk.tesseron.conftest import Api, App, Dial, does
from tests.sdk.tesseron.gateway import Refused, refuses, says
from tests.support.machine import within
from tests.support.process import until
from tests.wires.validator import Schema

pytestmark = pytest.mark.anyio

TESSERON = Schema("tesseron.json")
PLAN: Json = {
    "type": "object", "required": ["plan"], "properties": {"plan": {"type": "string", "enum": ["free", "pro"]}},
}  # fmt: skip
LISTS: Json = {
    "type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}},
}  # fmt: skip
HANDLER_ERROR, CANCELLED, TIMEOUT, NOT_AVAILABLE, CLOSED = -32005, -32001, -32002, -32007, -32010
NO = [{"action": "decline"}, {"action": "cancel"}]
MALFORMED = [{}, {"action": "ok"}, {"action": True}]


def pending(error: Refused) -> str:
    """The question that was left open."""
    assert error.code == HANDLER_ERROR
    assert error.message.startswith("waiting:")
    assert error.data["url"] in error.message
    return str(error.data["pending"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "agreed"),
    [
        ({"action": "accept"}, True),
        ({"action": "accept", "value": {}}, True),
        *[(one, False) for one in NO + MALFORMED],
    ],
)
async def test_t_1_agreed_is_true_for_an_explicit_accept_alone(
    asking: App, dialled: Dial, answer: Json, agreed: bool
) -> None:
    async with dialled(asking) as gateway:
        gateway.answer = says(answer)
        assert await gateway.invoke("agree") is agreed
    [prompt] = gateway.prompts
    assert prompt["question"] == "Shall I?"


@pytest.mark.slow
async def test_t122_another_app_with_the_same_key_and_action_is_not_answered(
    asking: App, new_app: Callable[..., App], elicit_box: Service, dialled: Dial, alice: ScriptedUser
) -> None:
    payroll = new_app("-m", "tests.sdk.tesseron.app", elicit_box.sandbox_url, "alice", APP="payroll", TIMEOUT_MS="1500")
    twin = new_app("-m", "tests.sdk.tesseron.app", elicit_box.sandbox_url, "alice", TIMEOUT_MS="1500")
    async with dialled(payroll, elicitation=False) as other, dialled(twin, elicitation=False) as same:
        with pytest.raises(Refused) as waits:
            await other.invoke("agree")
        await does(alice.submit, waits.value.data["url"])
        with pytest.raises(Refused) as asked:
            await same.invoke("agree")
        assert asked.value.data["url"] != waits.value.data["url"]
        assert await other.invoke("agree") is True
        await does(alice.submit, asked.value.data["url"])
    async with dialled(asking, elicitation=False) as same_app:
        assert await same_app.invoke("agree") is True, "another process of the same app goes on with it"


@pytest.mark.parametrize("name", ["", " ", None])
def test_t122_an_app_has_to_say_its_name(name: Any) -> None:
    with pytest.raises(ValueError, match="app: Give a name"):
        TesseronFlows(("https://id.example", "alice"), app=name)


async def test_t_5_a_confirmation_is_a_form_without_fields(asking: App, dialled: Dial) -> None:
    async with dialled(asking) as gateway:
        gateway.answer = says({"action": "accept"})
        await gateway.invoke("agree")
    TESSERON.check("ElicitationRequest", {"method": "elicitation/request", "params": gateway.prompts[0]})
    assert gateway.prompts[0]["schema"] == {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize("how", ["not negotiated", "refused"])
@pytest.mark.parametrize(("act", "agreed"), [(ScriptedUser.submit, True), (ScriptedUser.decline, False)])
async def test_t_1_where_the_host_cannot_ask_the_page_does(
    asking: App, dialled: Dial, alice: ScriptedUser, act: Callable[..., None], agreed: bool, how: str
) -> None:
    async with dialled(asking, elicitation=how == "refused") as gateway:
        gateway.answer = refuses(NOT_AVAILABLE)
        invocation = await gateway.begin("agree", {"how": how})
        await does(act, alice, await gateway.link())
        assert await gateway.end(invocation) is agreed


@pytest.mark.parametrize(
    ("answer", "value"), [({"action": "accept", "value": {"plan": "pro"}}, {"plan": "pro"}), *[(no, None) for no in NO]]
)
async def test_t_2_elicit_gives_the_value_or_none(asking: App, dialled: Dial, answer: Json, value: Any) -> None:
    async with dialled(asking) as gateway:
        gateway.answer = says(answer)
        assert await gateway.invoke("answer", {"schema": PLAN}) == value
    [prompt] = gateway.prompts
    TESSERON.check("ElicitationRequest", {"method": "elicitation/request", "params": prompt})
    assert prompt["schema"]["properties"]["plan"]["enum"] == ["free", "pro"]


@pytest.mark.parametrize("how", ["not negotiated", "refused"])
async def test_t_2_a_form_that_the_host_cannot_ask_is_asked_on_the_page(
    asking: App, dialled: Dial, alice: ScriptedUser, how: str
) -> None:
    async with dialled(asking, elicitation=how == "refused") as gateway:
        gateway.answer = refuses(NOT_AVAILABLE)
        invocation = await gateway.begin("answer", {"schema": PLAN})
        await does(alice.submit, await gateway.link(), plan="free")
        assert await gateway.end(invocation) == {"plan": "free"}


@pytest.mark.parametrize("action", ["agree", "connect"])
async def test_t_2_where_nothing_can_show_a_link_the_error_has_it_at_once(
    asking: App, dialled: Dial, api: Api, action: str
) -> None:
    async with dialled(asking, elicitation=False, streaming=False) as gateway:
        began = time.monotonic()
        with pytest.raises(Refused) as refused:
            await gateway.invoke(action, {"nobody": action})
    assert time.monotonic() - began < within(1.5)
    assert api.question(pending(refused.value))["status"] == "pending"


@pytest.mark.parametrize(
    "value", [{"plan": "gold"}, {}, {"plan": 3}, {"plan": None}, {"plan": "pro", "more": 1}, "pro", ["pro"], None]
)
async def test_t_3_an_answer_that_does_not_fit_is_an_error_and_no_value(asking: App, dialled: Dial, value: Any) -> None:
    async with dialled(asking) as gateway:
        gateway.answer = says({"action": "accept", "value": value})
        with pytest.raises(Refused) as refused:
            await gateway.invoke("answer", {"schema": PLAN})
        assert refused.value.code == HANDLER_ERROR
        assert not refused.value.message.startswith("waiting:")
        gateway.answer = says({"action": "accept", "value": {"plan": "free"}})
        assert await gateway.invoke("answer", {"schema": PLAN}) == {"plan": "free"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object", "oneOf": [PLAN]},
        {"type": "object", "properties": {"deep": {"type": "object", "properties": {}}}},
    ],
)
async def test_t_4_a_schema_is_refused_before_anything_is_sent(asking: App, dialled: Dial, schema: Json) -> None:
    async with dialled(asking) as gateway:
        with pytest.raises(Refused):
            await gateway.invoke("answer", {"schema": schema})
    assert gateway.prompts == gateway.said == []


async def test_t_4_what_tesseron_cannot_ask_is_asked_on_the_page(
    asking: App, dialled: Dial, alice: ScriptedUser
) -> None:
    async with dialled(asking) as gateway:
        invocation = await gateway.begin("answer", {"schema": LISTS})
        await does(alice.submit, await gateway.link(), tags=["b"])
        assert await gateway.end(invocation) == {"tags": ["b"]}
    assert [prompt["schema"]["properties"] for prompt in gateway.prompts] == [{}]


async def test_t_6_the_answer_is_of_the_model(asking: App, dialled: Dial) -> None:
    async with dialled(asking) as gateway:
        gateway.answer = says({"action": "accept", "value": {"plan": "pro", "seats": 2}})
        assert await gateway.invoke("order") == "Order pro 3"
        gateway.answer = says({"action": "decline"})
        assert await gateway.invoke("order") is None


@pytest.mark.parametrize(("action", "elicitation"), [("agree", False), ("connect", True), ("connect", False)])
@pytest.mark.parametrize("how", ["cancelled", "cut off"])
async def test_t_7_a_cancelled_invocation_takes_its_question_back(
    asking: App, dialled: Dial, api: Api, action: str, elicitation: bool, how: str
) -> None:
    async with dialled(asking, elicitation=elicitation) as gateway:
        invocation = await gateway.begin(action, {"case": "T-7"})
        question = (await gateway.link()).rpartition("/")[2]
        if how == "cancelled":
            await gateway.cancel(invocation)
            with pytest.raises(Refused) as refused:
                await gateway.end(invocation)
            assert refused.value.code == CANCELLED
    assert api.question(question, wait=5)["status"] == "cancelled"


async def test_t_7_a_question_that_is_being_created_is_taken_back_as_well(slow: Slow, alice: ScriptedUser) -> None:
    nothing_yet: Any = None
    questions = PendingQuestions(slow, alice.claim, ["asking", "agree", uuid.uuid4().hex])
    asking = asyncio.ensure_future(ActionQuestions(nothing_yet, slow, questions, None).confirm("Shall I?"))
    made = await slow.created.get()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert asking.cancelled()
    assert (await slow.get(made)).status == "cancelled"


async def test_t_7_a_form_that_is_open_in_the_host_is_taken_back_as_well(asking: App, dialled: Dial, api: Api) -> None:
    before = api.pending()
    async with dialled(asking) as gateway:
        invocation = await gateway.begin("answer", {"schema": PLAN})
        await gateway.asked()
        assert len(api.pending()) == len(before) + 1
        await gateway.cancel(invocation)
        with pytest.raises(Refused, match=str(CANCELLED)):
            await gateway.end(invocation)
        assert api.pending() == before
        gateway.answer = says({"action": "accept", "value": {"plan": "pro"}})
        assert await gateway.invoke("answer", {"schema": PLAN}) == {"plan": "pro"}


@pytest.mark.slow
async def test_t_8_an_action_ends_in_time_and_the_next_call_goes_on_with_the_question(
    hurried: App, dialled: Dial, alice: ScriptedUser, api: Api
) -> None:
    async with dialled(hurried, elicitation=False) as gateway:
        began = time.monotonic()
        with pytest.raises(Refused) as refused:
            await gateway.invoke("agree", {"case": "T-8"})
        given = int(hurried.process.env["TIMEOUT_MS"]) / 1000
        assert 0.8 * given < time.monotonic() - began < within(given)
        question = api.question(pending(refused.value))
        await does(alice.submit, question["url"])
        assert await gateway.invoke("agree", {"case": "T-8"}) is True
        with pytest.raises(Refused) as refused:  # an answer is good for one call
            await gateway.invoke("agree", {"case": "T-8"})
        assert pending(refused.value) != question["id"]


@pytest.mark.slow
async def test_t_8_all_questions_of_an_invocation_have_its_time_together(hurried: App, dialled: Dial) -> None:
    half = int(hurried.process.env["TIMEOUT_MS"]) / 2000

    async def answer(prompt: Json) -> Any:
        await asyncio.sleep(half if prompt["question"] == "The first?" else 60)
        return {"action": "accept", "value": {"plan": "pro"}}

    async with dialled(hurried) as gateway:
        gateway.answer = answer
        with pytest.raises(Refused) as refused:
            await gateway.invoke("twice")
    assert pending(refused.value)
    assert len(gateway.prompts) == 2


async def test_t_8_with_other_arguments_it_is_another_question(asking: App, dialled: Dial) -> None:
    left: list[str] = []
    async with dialled(asking, elicitation=False, streaming=False) as gateway:
        for number in (1, 2, 1):
            with pytest.raises(Refused) as refused:
                await gateway.invoke("agree", {"case": "arguments", "number": number})
            left.append(pending(refused.value))
    assert left[0] == left[2] != left[1]


@pytest.mark.slow
async def test_t_8_a_form_that_stays_open_in_the_host_is_asked_once_more(hurried: App, dialled: Dial, api: Api) -> None:
    async with dialled(hurried) as gateway:
        with pytest.raises(Refused) as refused:
            await gateway.invoke("answer", {"schema": PLAN, "case": "T-8"})
        question = pending(refused.value)
        gateway.answer = says({"action": "accept", "value": {"plan": "pro"}})
        assert await gateway.invoke("answer", {"schema": PLAN, "case": "T-8"}) == {"plan": "pro"}
    assert api.question(question)["result"] == {"content": {"plan": "pro"}}
    assert len(gateway.prompts) == 2


@pytest.mark.slow
async def test_t_8_a_confirmation_in_the_host_has_the_time_of_the_action(hurried: App, dialled: Dial) -> None:
    async with dialled(hurried) as gateway:
        with pytest.raises(Refused) as refused:
            await gateway.invoke("agree")
    assert refused.value.code == TIMEOUT


async def test_t_9_a_wizard_asks_one_thing_after_the_other(asking: App, dialled: Dial) -> None:
    at_once: list[int] = []

    async def answer(prompt: Json) -> Any:
        at_once.append(gateway.open_prompts)
        return {"action": "accept", "value": {"plan": "pro", "seats": 2} if prompt["schema"]["properties"] else {}}

    async with dialled(asking) as gateway:
        gateway.answer = answer
        assert await gateway.invoke("wizard") is True
        assert await gateway.invoke("wizard") is True
    assert [prompt["question"] for prompt in gateway.prompts] == ["What would you like?", "2 seats, pro?"] * 2
    assert at_once == [1] * 4


@pytest.mark.parametrize(("action", "given"), [("agree", {}), ("answer", {"schema": PLAN}), ("connect", {})])
@pytest.mark.parametrize("code", [HANDLER_ERROR, TIMEOUT, CLOSED])
async def test_t_10_a_prompt_that_fails_is_an_error_and_no_answer(
    asking: App, dialled: Dial, api: Api, action: str, given: Json, code: int
) -> None:
    before = api.pending()
    async with dialled(asking) as gateway:
        gateway.answer = refuses(code)
        with pytest.raises(Refused) as refused:
            await gateway.invoke(action, given | {"case": "T-10"})
    assert (refused.value.code, refused.value.message) == (code, "The prompt failed")
    assert api.pending() == before


@pytest.mark.parametrize(("action", "given"), [("answer", {"schema": PLAN}), ("connect", {})])
@pytest.mark.parametrize("answer", [*MALFORMED, None, "accept", []])
async def test_t_10_an_answer_that_cannot_be_read_is_an_error(
    asking: App, dialled: Dial, api: Api, action: str, given: Json, answer: Any
) -> None:
    before = api.pending()
    async with dialled(asking) as gateway:
        gateway.answer = says(answer)
        with pytest.raises(Refused) as refused:
            await gateway.invoke(action, given | {"case": "T-10"})
    assert refused.value.code == HANDLER_ERROR
    assert "read" in refused.value.message
    assert api.pending() == before


async def test_an_app_with_a_window_shows_the_link_itself(
    elicit_box: Service, new_app: Callable[..., App], dialled: Dial, alice: ScriptedUser, tmp_path: Path
) -> None:
    shown = tmp_path / "shown"
    app = new_app("-m", "tests.sdk.tesseron.app", elicit_box.sandbox_url, "alice", SHOWN=str(shown))
    async with dialled(app) as gateway:
        invocation = await gateway.begin("connect")
        # The file is there a moment before its text.
        await asyncio.to_thread(until, lambda: shown.exists() and shown.read_text(), "the link is shown")
        await does(alice.allow, shown.read_text())
        assert await gateway.end(invocation) == "connected"
    assert gateway.prompts == []


@pytest.mark.parametrize("how", ["cancelled", "completed"])
async def test_an_answer_from_the_host_to_a_question_that_has_ended_meanwhile_is_not_called_unfit(
    asking: App, dialled: Dial, api: Api, how: str
) -> None:
    before = api.pending()

    async def answer(prompt: Json) -> Any:
        [question] = api.pending() - before
        if how == "cancelled":
            api.cancel(question)
        else:
            said = {"plan": {"state": "submitted", "value": "free"}}
            api.post(f"/elicitations/{question}/complete", json={"answers": said}).raise_for_status()
        return {"action": "accept", "value": {"plan": "pro"}}

    async with dialled(asking) as gateway:
        gateway.answer = answer
        given = {"schema": PLAN, "late": how}
        assert await gateway.invoke("answer", given) == (None if how == "cancelled" else {"plan": "free"})
