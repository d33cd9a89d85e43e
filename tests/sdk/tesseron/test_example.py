"""``examples/tesseron_app.py``: every action, every way in which a link ends, and what is left of it after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import signature
from urllib.parse import parse_qs, urlsplit

import pytest
from tesseron import TesseronApp
from tesseron.protocol import ActionDescriptor

from elicit_flows.domain.values import Json
from elicit_flows.sdk.tesseron.questions import USED
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.tesseron.conftest import Api, App, Dial, does, hurry
from tests.sdk.tesseron.gateway import LINK, no_answer, says
from tests.wires.validator import Schema

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TESSERON = Schema("tesseron.json")
MESSAGES = {
    "list_files": "To list your files.", "buy_report": "Pay for: A report", "choose_plan": "Which plan would you like?",
    "store_api_key": "The key is kept for you; no model sees it.", "wipe_files": "Delete all your files?",
    "accept_terms": "Please read and accept the terms.",
}  # fmt: skip
ANSWERED_IN_THE_HOST = {"wipe_files": {}, "choose_plan": {"plan": "pro"}}
BY_LINK = sorted(MESSAGES.keys() - ANSWERED_IN_THE_HOST.keys())


def read_terms(user: ScriptedUser, url: str) -> None:
    user.go(url, "continue")
    user.open(parse_qs(urlsplit(user.url).query)["elicit_return"][0])


DOING: dict[str, Callable[[ScriptedUser, str], None]] = {
    "list_files": ScriptedUser.allow,
    "buy_report": ScriptedUser.pay,
    "store_api_key": lambda user, url: user.submit(url, api_key="sk-1"),
    "wipe_files": lambda user, url: user.submit(url),
    "choose_plan": lambda user, url: user.submit(url, plan="pro"),
    "accept_terms": read_terms,
}


@pytest.fixture(autouse=True)
def no_connections(api: Api) -> None:
    api.disconnect()


@pytest.fixture(scope="session")
def hasty(elicit_box: Service, new_app: Callable[..., App]) -> App:
    """The example, with actions of a second and a half."""
    return new_app("examples/tesseron_app.py", "--timeout-ms", hurry(), "--user", elicit_box.sandbox_url, "alice")


async def test_it_offers_its_actions_and_shows_the_claim_code(example: App, dialled: Dial) -> None:
    async with dialled(example) as gateway:
        await gateway.claim(example.process.wait_for_output(r"claim code: (\w+)\s*$").group(1))
    actions = gateway.hello["actions"]
    assert {action["name"] for action in actions} == MESSAGES.keys()
    assert all(action["description"] and action["timeoutMs"] == 60_000 for action in actions)


def test_the_library_has_no_annotations_so_an_action_that_asks_cannot_say_so() -> None:
    """If this fails, have ``wipe_files`` say ``destructive`` and ``requiresConfirmation``, as the protocol can."""
    assert "annotations" not in {*signature(TesseronApp.action).parameters, *ActionDescriptor.model_fields}


@pytest.mark.parametrize("action", MESSAGES)
async def test_by_progress_alone_it_is_done_when_the_user_has_done_it(
    example: App, dialled: Dial, alice: ScriptedUser, action: str
) -> None:
    async with dialled(example, elicitation=False) as gateway:
        invocation = await gateway.begin(action)
        await does(DOING[action], alice, await gateway.link())
        assert (await gateway.end(invocation)).startswith("done:")
    assert gateway.prompts == []
    assert gateway.said[0].startswith(MESSAGES[action])


@pytest.mark.slow
@pytest.mark.parametrize("action", BY_LINK)
@pytest.mark.parametrize("accepted", [True, False])
async def test_by_a_prompt_it_is_done_when_the_user_has_done_it(
    example: App, dialled: Dial, alice: ScriptedUser, action: str, accepted: bool
) -> None:
    """The prompt may be accepted at once, or stand open until the end."""
    async with dialled(example) as gateway:
        gateway.answer = says({"action": "accept"}) if accepted else no_answer
        invocation = await gateway.begin(action)
        await gateway.asked()
        await does(DOING[action], alice, await gateway.link())
        assert (await gateway.end(invocation)).startswith("done:")
    [prompt] = gateway.prompts
    TESSERON.check("ElicitationRequest", {"method": "elicitation/request", "params": prompt})
    assert prompt["question"].startswith(MESSAGES[action])
    assert prompt["schema"]["properties"] == {}


@pytest.mark.parametrize("action", ANSWERED_IN_THE_HOST)
async def test_in_the_host_it_is_done_when_the_user_has_said_so(example: App, dialled: Dial, action: str) -> None:
    async with dialled(example) as gateway:
        gateway.answer = says({"action": "accept", "value": ANSWERED_IN_THE_HOST[action]})
        assert (await gateway.invoke(action)).startswith("done:")
    assert [prompt["question"] for prompt in gateway.prompts] == [MESSAGES[action]]
    assert gateway.links() == []


@pytest.mark.slow
@pytest.mark.parametrize("action", MESSAGES)
@pytest.mark.parametrize("said", ["decline", "cancel"])
async def test_a_no_in_the_host_ends_it(example: App, dialled: Dial, api: Api, action: str, said: str) -> None:
    async with dialled(example) as gateway:
        gateway.answer = says({"action": said})
        told = await gateway.invoke(action)
    # Tesseron's own confirmation knows one kind of no.
    assert told.startswith("declined:" if said == "decline" or action == "wipe_files" else "cancelled:")
    for link in gateway.links():
        assert api.question(link.rpartition("/")[2])["status"] == "cancelled"


@pytest.mark.slow
@pytest.mark.parametrize("action", MESSAGES)
async def test_a_no_on_the_page_ends_it(example: App, dialled: Dial, alice: ScriptedUser, action: str) -> None:
    async with dialled(example, elicitation=False) as gateway:
        invocation = await gateway.begin(action)
        await does(alice.decline, await gateway.link())
        assert (await gateway.end(invocation)).startswith("declined:")


async def test_a_no_at_the_provider_ends_it(example: App, dialled: Dial, alice: ScriptedUser) -> None:
    async with dialled(example) as gateway:
        invocation = await gateway.begin("list_files")
        await does(alice.deny, await gateway.link())
        assert (await gateway.end(invocation)).startswith("declined:")


async def test_a_question_that_is_taken_back_elsewhere_ends_it(example: App, dialled: Dial, api: Api) -> None:
    async with dialled(example) as gateway:
        invocation = await gateway.begin("accept_terms")
        api.cancel((await gateway.link()).rpartition("/")[2])
        assert (await gateway.end(invocation)).startswith("cancelled:")


async def test_a_no_in_the_host_that_comes_too_late_changes_nothing(
    example: App, dialled: Dial, alice: ScriptedUser
) -> None:
    async def answer(prompt: Json) -> Json:
        await does(DOING["store_api_key"], alice, await gateway.link())
        return {"action": "decline"}

    async with dialled(example) as gateway:
        gateway.answer = answer
        assert (await gateway.invoke("store_api_key")).startswith("done:")


@pytest.mark.slow
async def test_they_end_in_time_and_the_next_calls_go_on(hasty: App, dialled: Dial, alice: ScriptedUser) -> None:
    async with dialled(hasty, elicitation=False) as gateway:
        told = await asyncio.gather(*map(gateway.invoke, MESSAGES))
        assert [one.partition(" ")[0] for one in told] == ["waiting:"] * len(MESSAGES)
        links = [LINK.findall(one)[0] for one in told]
        assert set(links) == set(gateway.links())
        for action, link in zip(MESSAGES, links, strict=True):
            await does(DOING[action], alice, link)
        gateway.said.clear()
        told = await asyncio.gather(*map(gateway.invoke, MESSAGES))
    assert [one.partition(" ")[0] for one in told] == ["done:"] * len(MESSAGES)
    assert gateway.said == []


async def test_an_answer_is_good_for_one_call(hasty: App, dialled: Dial, alice: ScriptedUser) -> None:
    async with dialled(hasty, elicitation=False) as gateway:
        assert (await gateway.invoke("buy_report")).startswith("waiting:")
        await does(alice.pay, await gateway.link())
        told = await asyncio.gather(*[gateway.invoke("buy_report") for _ in range(3)], return_exceptions=True)
        said = sorted(str(one).partition(":")[0] for one in told)
        assert said.count("done") == 1
        assert set(said) <= {"done", "waiting", f"-32005 {USED}"}
        assert (await gateway.invoke("buy_report")).startswith("waiting:")
        assert len(set(gateway.links())) == 2


async def test_who_is_at_it_is_not_prompted_again(hasty: App, dialled: Dial, alice: ScriptedUser) -> None:
    async with dialled(hasty) as gateway:
        assert (await gateway.invoke("list_files")).startswith("waiting:")
        await does(alice.go, await gateway.link(), "continue")
        assert (await gateway.invoke("list_files")).startswith("waiting:")
        await does(alice.press, "allow")
        assert (await gateway.invoke("list_files")).startswith("done:")
    assert len(gateway.prompts) == 1
    assert "The page is open." in gateway.said


@pytest.mark.slow
async def test_what_was_paid_while_the_app_was_down_is_delivered(
    elicit_box: Service, new_app: Callable[..., App], dialled: Dial, alice: ScriptedUser
) -> None:
    options = ["--timeout-ms", hurry(), "--user", elicit_box.sandbox_url, "alice"]
    app = new_app("examples/tesseron_app.py", *options)
    async with dialled(app, elicitation=False) as gateway:
        assert (await gateway.invoke("buy_report", {"report": 7})).startswith("waiting:")
        link = await gateway.link()
    app.process.stop()
    await does(alice.pay, link)
    app.start()
    async with dialled(app, elicitation=False) as gateway:
        assert (await gateway.invoke("buy_report", {"report": 7})).startswith("done:")
        assert gateway.links() == []


@pytest.mark.slow
async def test_a_crash_of_the_service_is_waited_out(
    example: App, dialled: Dial, elicit_box: Service, alice: ScriptedUser
) -> None:
    async with dialled(example) as gateway:
        invocation = await gateway.begin("store_api_key", {"case": "crash"})
        link = await gateway.link()
        await asyncio.to_thread(elicit_box.crash)
        await does(DOING["store_api_key"], alice, link)
        assert (await gateway.end(invocation)).startswith("done:")
