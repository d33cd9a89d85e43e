"""A chat's input requests, between a real service and what a host dispatches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Json
from elicit_flows.sdk import (
    Cancelled,
    Completed,
    Declined,
    Elicit,
    Elicitation,
    ElicitError,
    Expired,
    Outcome,
    Question,
)
from elicit_flows.sdk.ahp import AhpInputBridge, ToolCall
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser
from elicit_flows.wires import ahp
from tests.kinds.form.asked import QUESTIONS as SIX_KINDS
from tests.sdk.ahp import actions
from tests.sdk.ahp.actions import QUESTIONS, changed, completed, number, text
from tests.sdk.ahp.chat import BareChat
from tests.sdk.conftest import Slow
from tests.support.machine import within

pytestmark = pytest.mark.anyio

UNSTORABLE = "The action contains a number or a character that cannot be stored."


async def ended(task: asyncio.Task[Outcome]) -> Outcome:
    async with asyncio.timeout(within(20)):
        return await task


async def do(function: Any, *arguments: Any) -> None:
    await asyncio.to_thread(function, *arguments)


def type_on_the_page(user: ScriptedUser, url: str, name: str, value: str) -> None:
    """As the page's script keeps what is written there."""
    user.open(url)
    form = user.page.forms["submit"]
    sent = {"question": form.names[name], form.names[name]: value}
    hidden = {key: form.fields[key] for key in ("asked", "csrfmiddlewaretoken")}
    user.http.post(f"{url}/draft", data=sent | hidden).raise_for_status()


async def test_a_link_is_requested_listed_and_completed_when_its_page_is_done(
    chat: BareChat, alice: ScriptedUser
) -> None:
    request, task = await chat.ask(lambda asks: asks.confirm("May I?"))
    assert request == {"id": request["id"], "message": "May I?", "url": request["url"]}
    assert request["url"].endswith(request["id"])
    await do(alice.submit, request["url"])
    outcome = await ended(task)
    assert isinstance(outcome, Completed)
    assert outcome.elicitation.id == request["id"]
    assert [one["type"] for one in chat.told] == [
        "chat/inputRequested", "session/inputNeededSet", "chat/inputCompleted", "session/inputNeededRemoved",
    ]  # fmt: skip
    assert chat.told[1]["request"] == {
        "id": request["id"], "chat": chat.uri, "kind": "chatInput", "request": request,
    }  # fmt: skip
    assert chat.told[2:] == [
        completed(request["id"], "accept"), {"type": "session/inputNeededRemoved", "id": request["id"]},
    ]  # fmt: skip


async def test_the_summary_says_that_input_is_needed_while_a_request_is_open(
    chat: BareChat, alice: ScriptedUser
) -> None:
    assert chat.bridge.status == 8
    request, task = await chat.ask(lambda asks: asks.confirm("May I?"))
    assert chat.bridge.status == 24
    actions.check(ahp.chat_updated(chat.uri, chat.bridge.status))
    await do(alice.submit, request["url"])
    await ended(task)
    assert chat.bridge.status == 8


@pytest.mark.parametrize("response", ["decline", "cancel"])
async def test_the_summary_needs_no_input_as_soon_as_a_client_has_completed_the_request(
    chat: BareChat, response: str
) -> None:
    request, _ = await chat.ask(lambda asks: asks.confirm("May I?"))
    assert await chat.say(completed(request["id"], response)) is None
    assert chat.bridge.status == 8


async def test_ahp_15_the_pages_are_in_the_language_of_the_chats_client(chat: BareChat) -> None:
    bridge = AhpInputBridge(chat.elicit, chat.user, chat.uri, chat.dispatch, host="tests", locale="de")
    request, _ = await chat.ask(lambda _: bridge.confirm("May I?"))
    assert (await chat.elicit.get(request["id"])).locale == "de"


async def test_to_accept_a_link_is_consent_and_completes_nothing(chat: BareChat, alice: ScriptedUser) -> None:
    request, task = await chat.ask(lambda asks: asks.confirm("May I?"))
    reason = await chat.say(completed(request["id"], "accept"))
    assert reason == "Open the link and answer there. This request is completed as soon as that is done."
    assert not task.done()
    assert (await chat.elicit.get(request["id"])).status == Status.PENDING
    await do(alice.decline, request["url"])
    assert isinstance(await ended(task), Declined)
    assert chat.told[2] == completed(request["id"], "decline")


async def test_a_form_that_is_a_step_is_for_the_user_alone(chat: BareChat, alice: ScriptedUser) -> None:
    steps: list[Json] = [{"kind": "form", "params": {"questions": QUESTIONS}}, {"kind": "confirm", "params": {}}]
    request, task = await chat.ask(lambda asks: asks.steps(steps, message="Tell me."))
    assert request.keys() == {"id", "message", "url"}
    reason = await chat.say(changed(request["id"], "name", text("Atlas")))
    assert reason == "There is no such question in this request."
    await do(lambda: alice.submit(request["url"], name="Atlas"))
    await do(alice.press, "submit")
    assert isinstance(await ended(task), Completed)


async def test_ahp_2_request_and_questions_keep_their_ids_in_the_next_process(
    chat: BareChat, alice: ScriptedUser
) -> None:
    request, task = await chat.ask_form()
    await chat.say(changed(request, "name", text("Atlas", "draft")))
    task.cancel()
    async with BareChat(chat.elicit, chat.user, chat.uri) as again:
        [asked] = await again.bridge.unfinished()
        assert asked.id == request
        second, task = await again.ask(lambda asks: asks.follow(asked))
        first = chat.told[0]["request"]
        assert second == first | {"answers": {"name": text("Atlas", "draft")}}
        await do(lambda: alice.submit(asked.url))
        outcome = await ended(task)
        assert isinstance(outcome, Completed)
        assert outcome.result["content"] == {"name": "Atlas"}
        assert await again.bridge.unfinished() == []


async def test_only_what_was_asked_in_this_chat_is_found_again(chat: BareChat) -> None:
    await chat.elicit.create("confirm", chat.user, {}, message="Elsewhere?", metadata={"ahp_chat": "ahp-chat:/other"})
    await chat.elicit.create("confirm", chat.user, {}, message="Nowhere?")
    request, _ = await chat.ask(lambda asks: asks.confirm("Here?", metadata={"call": 7}))
    [found] = await chat.bridge.unfinished()
    assert (found.id, found.metadata) == (request["id"], {"call": 7, "ahp_chat": chat.uri, "ahp_host": "tests"})


async def test_t122_another_host_with_the_same_chat_and_key_finds_nothing(chat: BareChat, alice: ScriptedUser) -> None:
    request, _ = await chat.ask(lambda asks: asks.confirm("Really delete?"))
    async with BareChat(chat.elicit, chat.user, chat.uri, host="another") as other:
        assert await other.bridge.unfinished() == []
        _, task = await other.ask(lambda asks: asks.confirm("Really delete?"))
        await do(lambda: alice.submit(request["url"]))
        await chat.until("chat/inputCompleted", requestId=request["id"])
        assert not task.done()
    for no_name in ("", " ", None):
        with pytest.raises(ValueError, match="host: Give a name"):
            AhpInputBridge(chat.elicit, chat.user, chat.uri, chat.dispatch, host=no_name)  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "status"), [("unreachable", None), ("unexpected_answer", 200), ("http_502", 502)])
async def test_t142_no_reason_names_the_services_address(
    chat: BareChat, monkeypatch: pytest.MonkeyPatch, code: str, status: int | None
) -> None:
    async def answer(*args: Any) -> Any:
        raise ElicitError(code, "What answers at http://10.0.0.7:8000 is not it", status=status)

    request, _ = await chat.ask_form()
    monkeypatch.setattr(chat.elicit, "answer", answer)
    said = await chat.bridge.apply(changed(request, "seats", number(3, "draft")), "editor")
    assert said == "The answer could not be stored. Try again."


async def test_ahp_3_what_is_typed_on_the_page_and_in_a_client_is_one_draft(
    chat: BareChat, alice: ScriptedUser
) -> None:
    request, task = await chat.ask_form()
    url = chat.told[0]["request"]["url"]
    assert await chat.say(changed(request, "seats", number(3, "draft"))) is None
    await do(type_on_the_page, alice, url, "name", "Atlas")
    await chat.until("chat/inputAnswerChanged", questionId="name", answer=text("Atlas", "draft"))
    draft = await chat.elicit.draft(request)
    assert {key: (one.value, one.by) for key, one in draft.answers.items()} == {
        "seats": (3, "agent"), "name": ("Atlas", "person"),
    }  # fmt: skip
    await do(lambda: alice.submit(url, seats=4))
    outcome = await ended(task)
    assert isinstance(outcome, Completed)
    assert outcome.result["content"] == {"name": "Atlas", "seats": 4}
    # The client's own change was told once, by its echo.
    assert [one["questionId"] for one in chat.told if one["type"] == "chat/inputAnswerChanged"] == ["seats", "name"]
    assert await chat.until("chat/inputCompleted") == completed(request, "accept", name=text("Atlas"), seats=number(4))


async def test_a_draft_that_was_not_sent_is_no_part_of_the_record(chat: BareChat, alice: ScriptedUser) -> None:
    request, task = await chat.ask_form()
    await chat.say(changed(request, "name", text("Atlas", "draft")))
    await chat.say(changed(request, "seats", number(3, "draft")))
    await do(lambda: alice.submit(chat.told[0]["request"]["url"], seats=""))
    await ended(task)
    assert chat.told[-3:] == [
        changed(request, "seats"), completed(request, "accept", name=text("Atlas")),
        {"type": "session/inputNeededRemoved", "id": request},
    ]  # fmt: skip


async def test_ahp_4_a_draft_is_cleared_and_a_question_skipped_with_a_reason(chat: BareChat) -> None:
    request, task = await chat.ask_form()
    skipped = {"state": "skipped", "freeformValues": ["Nobody knows."]}
    for action in (
        changed(request, "name", text("Atlas")), changed(request, "seats", number(3)), changed(request, "seats"),
        changed(request, "sure", skipped), completed(request, "accept"),
    ):  # fmt: skip
        assert await chat.say(action) is None
    outcome = await ended(task)
    assert isinstance(outcome, Completed)
    assert outcome.result == {"content": {"name": "Atlas"}, "skipped": {"sure": "Nobody knows."}}


async def test_ahp_5_all_kinds_of_questions_with_own_answers_beside_the_options(chat: BareChat) -> None:
    request, task = await chat.ask_form({"questions": SIX_KINDS})
    assert chat.told[0]["request"]["questions"] == SIX_KINDS
    selected: Json = {"kind": "selected", "value": "", "freeformValues": ["bun"]}
    many: Json = {"kind": "selected-many", "value": ["lint"], "freeformValues": ["tests"]}
    answers = {
        "title": text("Atlas"), "weight": number(1.5), "count": number(3),
        "keep": {"state": "submitted", "value": {"kind": "boolean", "value": True}},
        "runtime": {"state": "submitted", "value": selected}, "checks": {"state": "submitted", "value": many},
    }  # fmt: skip
    await chat.say(changed(request, "title", text("Another", "draft")))
    assert await chat.say(completed(request, "accept", **answers)) is None
    outcome = await ended(task)
    assert isinstance(outcome, Completed)
    assert outcome.result["content"] == {
        "title": "Atlas", "weight": 1.5, "count": 3, "keep": True,
        "runtime": {"value": None, "freeformValues": ["bun"]},
        "checks": {"value": ["lint"], "freeformValues": ["tests"]},
    }  # fmt: skip


async def test_ahp_6_accept_is_refused_until_every_required_question_is_submitted(chat: BareChat) -> None:
    request, task = await chat.ask_form()
    for answer in (None, text("Atlas", "draft")):
        await chat.say(changed(request, "name", answer))
        reason = await chat.say(completed(request, "accept", seats=number(2)))
        assert reason == "Not submitted yet, or not fitting: name."
    assert not task.done()
    # What came with it is kept as it came, and told to everybody.
    await chat.until("chat/inputAnswerChanged", questionId="seats", answer=number(2))
    assert await chat.say(completed(request, "accept", name=text("Atlas"))) is None
    assert isinstance(await ended(task), Completed)


@pytest.mark.parametrize(("response", "outcome"), [("decline", Declined), ("cancel", Cancelled)])
async def test_ahp_7_a_clients_no_is_an_outcome_and_ends_the_link(
    chat: BareChat, alice: ScriptedUser, response: str, outcome: type[Outcome]
) -> None:
    request, task = await chat.ask(lambda asks: asks.confirm("May I?"))
    assert await chat.say(completed(request["id"], response)) is None
    assert isinstance(await ended(task), outcome)
    assert chat.told[2:] == [
        completed(request["id"], response), {"type": "session/inputNeededRemoved", "id": request["id"]},
    ]  # fmt: skip
    await do(alice.open, request["url"])
    assert alice.page.forms.keys().isdisjoint({"submit", "decline"})


async def test_ahp_8_the_first_completion_wins(chat: BareChat) -> None:
    request, task = await chat.ask_form()
    await chat.say(changed(request, "name", text("Atlas")))
    reasons = await asyncio.gather(
        chat.say(completed(request, "accept"), "laptop"), chat.say(completed(request, "decline"), "phone")
    )
    assert reasons == [None, "The request is over: laptop has sent accept."]
    assert isinstance(await ended(task), Completed)
    assert await chat.say(completed(request, "cancel")) == "The request is over: laptop has sent accept."
    assert await chat.say(changed(request, "name", text("Other"))) == "The request is over: laptop has sent accept."
    assert chat.types("chat/inputCompleted") == ["chat/inputCompleted"]


async def test_who_comes_after_the_page_is_told_so(chat: BareChat, alice: ScriptedUser) -> None:
    request, task = await chat.ask(lambda asks: asks.confirm("May I?"))
    await do(alice.submit, request["url"])
    await ended(task)
    assert await chat.say(completed(request["id"], "decline")) == "The request is over: completed."
    await chat.bridge.turn_ended()
    assert await chat.say(completed(request["id"], "decline")) == "The request is over: completed."
    await chat.bridge.turn_ended()
    assert await chat.say(completed(request["id"], "decline")) == "There is no request with this id in this chat."


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (completed("el_unknown", "accept"), "There is no request with this id in this chat."),
        (changed("el_unknown", "name"), "There is no request with this id in this chat."),
        ({"type": "chat/inputAnswerChanged"}, "There is no request with this id in this chat."),
        ({"type": "chat/inputRequested", "request": {"id": "el_mine"}}, "Only the host may dispatch this action."),
        (changed("", "size", text("l")), "There is no such question in this request."),
        ({**changed("", "name"), "questionId": ["name"]}, "There is no such question in this request."),
        (changed("", "name", number(3)), "This question takes a value of kind text."),
        (changed("", "name", {"state": "submitted"}), "Give a value: a draft or submitted answer needs one."),
        (changed("", "name", "Atlas"), "Give draft, submitted or skipped."),
        (changed("", "seats", number(40)), "Write a number that is at most 9."),
        (changed("", "name", text("A" * 3_000)), "Write at most 2000 characters; this has 3000."),
        (changed("", "seats", number(1e400)), UNSTORABLE),
        (changed("", "name", text("half a \ud83d")), UNSTORABLE),
        (changed("", "seats", number(True, "draft")), "Write a whole number in digits, of at most 18 digits."),
        (completed("", "yes"), "Give accept, decline or cancel."),
        ({**completed("", "accept"), "answers": [1]}, "Give an object with an answer for each question."),
        (completed("", "accept", size=text("l")), "There is no such question in this request."),
        (completed("", "accept", name=number(1)), "This question takes a value of kind text."),
    ],
)  # fmt: skip
async def test_what_the_protocol_says_to_reject_is_rejected_with_a_reason(
    chat: BareChat, action: Json, reason: str
) -> None:
    request, task = await chat.ask_form()
    given = action | ({"requestId": request} if action.get("requestId") == "" else {})
    assert await chat.say(given) == reason
    assert (await chat.elicit.draft(request)).answers == {}
    assert not task.done()


async def test_ahp_9_asked_again_in_other_words_it_is_the_same_request_with_its_drafts(
    chat: BareChat, alice: ScriptedUser
) -> None:
    request, task = await chat.ask_form()
    await chat.say(changed(request, "name", text("Atlas")))
    await chat.elicit.ask_again(request, "Tell me by Monday.", {"questions": [{"id": "sure", **SURE}, NAME]})
    async with asyncio.timeout(within(15)):
        while len(chat.types("session/inputNeededSet")) < 2:
            await asyncio.sleep(0.01)
    again = chat.told[-2]["request"]
    assert (again["id"], again["message"]) == (request, "Tell me by Monday.")
    assert ([one["id"] for one in again["questions"]], again["answers"]) == (["sure", "name"], {"name": text("Atlas")})
    assert chat.told[-1]["request"]["request"]["message"] == "Tell me by Monday."
    assert await chat.say(completed(request, "accept")) is None
    assert isinstance(await ended(task), Completed)


SURE: Json = {"kind": "boolean", "message": "Sure?"}
NAME: Json = {"id": "name", "kind": "text", "message": "Which name?", "required": True}


async def test_ahp_12_a_turn_that_ends_first_takes_the_question_back_and_leaves_no_response(
    chat: BareChat, alice: ScriptedUser
) -> None:
    request, task = await chat.ask_form()
    await chat.bridge.turn_ended()
    assert isinstance(await ended(task), Cancelled)
    assert chat.types("chat/inputCompleted") == []
    assert chat.types("session/") == ["session/inputNeededSet", "session/inputNeededRemoved"]
    assert (await chat.elicit.get(request)).status == Status.CANCELLED
    assert await chat.say(completed(request, "accept")) == "The request is over: the turn that asked has ended."
    await chat.bridge.turn_ended()


async def test_a_turn_whose_task_was_cancelled_takes_its_question_back_too(chat: BareChat) -> None:
    request, task = await chat.ask_form()
    task.cancel()
    assert (await chat.elicit.get(request)).status == Status.PENDING
    await chat.bridge.turn_ended()
    assert (await chat.elicit.get(request)).status == Status.CANCELLED
    assert chat.types("session/") == ["session/inputNeededSet", "session/inputNeededRemoved"]


async def test_a_task_that_is_cancelled_while_its_question_is_created_leaves_no_question(
    slow: Slow, alice: ScriptedUser
) -> None:
    async with BareChat(slow, alice.claim) as chat:
        task = asyncio.create_task(chat.bridge.open(Question("confirm", {}, "Sure?", {})))
        made = await slow.created.get()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await chat.bridge.turn_ended()
        assert (await slow.get(made)).status == Status.CANCELLED
        assert await chat.bridge.unfinished() == []


class SlowToCancel(Elicit):
    """``cancelling`` is set when a cancel has begun; it goes on when ``goes_on`` is."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.cancelling, self.goes_on = asyncio.Event(), asyncio.Event()

    async def cancel(self, *arguments: Any) -> Elicitation:
        self.cancelling.set()
        await self.goes_on.wait()
        return await super().cancel(*arguments)


async def test_the_question_of_the_next_turn_is_not_forgotten_while_the_last_turn_is_still_ending(
    elicit_box: Service, alice: ScriptedUser
) -> None:
    async with SlowToCancel(elicit_box.url, elicit_box.api_key) as elicit, BareChat(elicit, alice.claim) as chat:
        await chat.ask_form()
        ending = asyncio.create_task(chat.bridge.turn_ended())
        await elicit.cancelling.wait()
        task = asyncio.create_task(chat.bridge.open(Question("confirm", {}, "And this?", {})))
        await until_listed(chat, 2)
        elicit.goes_on.set()
        await ending
        await chat.bridge.turn_ended()
        assert isinstance(await ended(task), Cancelled)
    assert chat.types("session/").count("session/inputNeededRemoved") == 2


async def until_listed(chat: BareChat, count: int) -> None:
    async with asyncio.timeout(within(20)):
        while chat.types("session/").count("session/inputNeededSet") < count:
            await asyncio.sleep(0.01)


CALL = ToolCall("turn-1", "call-1", "https://mcp.acme.test/")


async def test_ahp_14_a_tool_call_pauses_until_the_account_is_connected_and_no_token_passes(
    chat: BareChat, alice: ScriptedUser
) -> None:
    def asks(bridge: Any) -> Any:
        return bridge.during(CALL).oauth("acme", scopes=["files.read"], message="Connect Acme.", reuse="never")

    request, task = await chat.ask(asks)
    await do(alice.allow, request["url"])
    outcome = await ended(task)
    token = await chat.elicit.token(outcome)
    assert chat.types() == [
        "chat/toolCallAuthRequired", "chat/inputRequested", "session/inputNeededSet", "chat/inputCompleted",
        "session/inputNeededRemoved", "chat/toolCallAuthResolved",
    ]  # fmt: skip
    assert chat.told[0] == {
        "type": "chat/toolCallAuthRequired", "turnId": "turn-1", "toolCallId": "call-1",
        "auth": {
            "reason": "required", "requiredScopes": ["files.read"], "description": "Connect Acme.",
            "resource": {"resource": "https://mcp.acme.test/", "authorization_servers": []},
        },
    }  # fmt: skip
    assert token.access_token not in str(chat.told)
    assert isinstance(outcome, Completed)
    assert outcome.connection not in str(chat.told)
    before = list(chat.told)
    reused = await chat.bridge.during(CALL).oauth("acme", scopes=["files.read"])
    assert isinstance(reused, Completed)
    assert reused.reused
    assert chat.told == before


async def test_a_tool_call_whose_account_was_not_connected_is_not_resolved(chat: BareChat, alice: ScriptedUser) -> None:
    request, task = await chat.ask(lambda asks: asks.during(CALL).oauth("acme", reuse="never"))
    await do(alice.deny, request["url"])
    assert isinstance(await ended(task), Declined)
    assert "chat/toolCallAuthResolved" not in chat.types()


async def test_a_question_that_nobody_answers_is_completed_as_cancelled(chat: BareChat) -> None:
    request, task = await chat.ask(lambda asks: asks.confirm("May I?", expires_in=1))
    assert isinstance(await ended(task), Expired)
    assert chat.told[2] == completed(request["id"], "cancel")


@pytest.mark.slow
async def test_it_is_followed_through_a_crash_of_the_service(
    elicit_box: Service, live: Elicit, chat: BareChat, alice: ScriptedUser
) -> None:
    request, task = await chat.ask_form()
    url = chat.told[0]["request"]["url"]
    await do(elicit_box.crash)
    await do(type_on_the_page, alice, url, "name", "Atlas")
    await chat.until("chat/inputAnswerChanged", questionId="name")
    assert await chat.say(changed(request, "name", text("Atlas"))) is None
    assert await chat.say(completed(request, "accept")) is None
    assert isinstance(await ended(task), Completed)
