"""Guards that ask all at once (``McpFlows(together=True)``)."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from elicit_flows.domain.status import Status
from elicit_flows.sdk import Elicitation
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import OLD, URL, Json, Legacy, Modern, text
from tests.sdk.mcp.test_cases import _nothing_ran_before, called, name_in  # noqa: F401
from tests.sdk.mcp.test_tasks import CAN, Client
from tests.support.process import until

HOLD = 20  # seconds
YES, FORM = "Sell it?", "Which plan?"


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools(settings={"hold": HOLD, "ask_again_after": 0})


def links(requests: Json) -> dict[str, str]:
    """By what is asked."""
    return {one["params"]["message"]: one["params"]["url"] for one in requests.values()}


def asked(answer: Json) -> dict[str, str]:
    return links(answer["result"]["inputRequests"])


def stands(service: Service, url: str) -> Elicitation:
    with service.sync_elicit() as elicit:
        return elicit.get(name_in(url))


def sold(house: str) -> str:
    return f"sold {house} {YES} pro"


def test_both_are_asked_in_one_answer_and_their_outcomes_come_in_the_guards_order(
    tools: Tools, alice: ScriptedUser
) -> None:
    modern, house = Modern(tools.url), {"house": "hut"}
    first = modern.call("sells", house)
    both = asked(first)
    assert list(both) == [YES, FORM]
    alice.submit(both[FORM], plan="pro")
    one = next(key for key, said in first["result"]["inputRequests"].items() if said["params"]["message"] == FORM)
    part = modern.retry(first, "sells", house, inputResponses={one: {"action": "accept"}})
    assert asked(part) == {YES: both[YES]}, "what the client has not answered is asked again, and nothing else"
    assert tools.ran == []
    alice.submit(both[YES])
    assert text(modern.retry(part, "sells", house)) == f"done: {sold('hut')}"
    assert tools.ran == [sold("hut")]


def test_in_the_older_era_both_are_pushed_before_one_is_answered(tools: Tools, alice: ScriptedUser) -> None:
    session, opened = Legacy(tools.url), list[str]()

    def then(url: str) -> None:
        opened.append(url)
        if len(opened) == 2:
            alice.submit(opened[0])
            alice.submit(opened[1], plan="pro")

    answer = session.call("sells", {"house": "barn"}, then=then)
    assert [one["message"] for one in session.asked] == [YES, FORM]
    assert text(answer) == f"done: {sold('barn')}"
    told = {one["params"]["elicitationId"] for one in session.told}
    assert told == {name_in(url) for url in opened}
    assert tools.ran == [sold("barn")]


def test_a_no_to_one_takes_the_other_back(tools: Tools, alice: ScriptedUser, elicit_box: Service, newer: bool) -> None:
    house = {"house": f"no {newer}"}
    if newer:
        modern = Modern(tools.url)
        first = modern.call("sells", house)
        both = asked(first)
        alice.decline(both[FORM])
        answer = modern.retry(first, "sells", house)
    else:
        session, both = Legacy(tools.url), dict[str, str]()

        def then(url: str) -> None:
            both[session.asked[-1]["message"]] = url
            if FORM in both:
                alice.decline(both[FORM])

        answer = session.call("sells", house, then=then)
    assert text(answer).startswith("declined: ")
    assert tools.ran == []
    assert stands(elicit_box, both[YES]).status is Status.CANCELLED
    again = text(called(tools, newer, "sells", house, can={}))
    assert both[YES] not in again, "called anew it is asked anew"
    assert "/c/" in again


def test_a_no_in_the_client_takes_the_other_back(tools: Tools, elicit_box: Service) -> None:
    modern, house = Modern(tools.url), {"house": "refused"}
    first = modern.call("sells", house)
    replies = dict(zip(first["result"]["inputRequests"], ({"action": "accept"}, {"action": "decline"}), strict=True))
    assert text(modern.retry(first, "sells", house, inputResponses=replies)).startswith("declined: ")
    assert {stands(elicit_box, url).status for url in asked(first).values()} == {Status.CANCELLED}


def test_a_no_ends_the_call_while_the_other_is_waited_for(tools: Tools, alice: ScriptedUser) -> None:
    """The client agreed to open both links, so the call waits for both."""
    modern, house = Modern(tools.url), {"house": "shed"}
    first = modern.call("sells", house)
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        answer = pool.submit(modern.retry, first, "sells", house)
        time.sleep(0.5)
        assert not answer.done()
        alice.decline(asked(first)[FORM])
        assert text(answer.result()).startswith("declined: ")
    assert time.monotonic() - began < HOLD - 2
    assert tools.ran == []


def test_a_yes_beside_a_no_is_kept_for_the_next_call(tools: Tools, alice: ScriptedUser) -> None:
    modern, house = Modern(tools.url), {"house": "kept"}
    both = asked(first := modern.call("sells", house))
    alice.submit(both[YES])
    alice.decline(both[FORM])
    assert text(modern.retry(first, "sells", house)).startswith("declined: ")
    again = until(lambda: "inputRequests" in (one := modern.call("sells", house))["result"] and one, "it is asked anew")
    assert list(asked(again)) == [FORM]
    alice.submit(asked(again)[FORM], plan="pro")
    assert text(modern.retry(again, "sells", house)) == f"done: {sold('kept')}"


def test_what_uses_earlier_answers_is_asked_after_them(tools: Tools, alice: ScriptedUser) -> None:
    modern, house = Modern(tools.url), {"house": "castle"}
    both = asked(first := modern.call("sells", house))
    alice.submit(both[YES])
    alice.submit(both[FORM], plan="pro")
    second = modern.retry(first, "sells", house)
    assert list(asked(second)) == ["Really sell castle for pro?"]
    assert tools.ran == []
    alice.submit(*asked(second).values())
    assert text(modern.retry(second, "sells", house)) == f"done: {sold('castle')}"


def test_a_client_that_opens_no_links_gets_all_of_them_in_words(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    house = {"house": f"words {newer}"}
    answer = called(tools, newer, "sells", house, can={})
    yes, form = answer["result"]["_meta"]["elicit-flows/outcome"]["urls"]
    words = f"waiting: The user has not done it all yet. Their links are {yes}, {form} ; call"
    assert text(answer).startswith(words)
    alice.submit(form, plan="pro")
    left = called(tools, newer, "sells", house, can={})
    assert left["result"]["_meta"]["elicit-flows/outcome"]["url"] == yes
    alice.submit(yes)
    assert text(called(tools, newer, "sells", house, can={})) == f"done: {sold(house['house'])}"


def test_a_refusal_of_the_older_era_names_all(new_tools: Callable[..., Tools], alice: ScriptedUser) -> None:
    session = Legacy(new_tools(settings={"push": False}).url)
    error = session.call("sells", {"house": "mill"})["error"]
    OLD.check("URLElicitationRequiredError", {"jsonrpc": "2.0", "id": 1, "error": error})
    yes, form = (one["url"] for one in error["data"]["elicitations"])
    alice.submit(yes)
    alice.submit(form, plan="pro")
    assert text(session.call("sells", {"house": "mill"})) == f"done: {sold('mill')}"


def test_a_state_of_one_question_is_none_for_two(tools: Tools, alice: ScriptedUser) -> None:
    """The library binds a state to tool and arguments; a state of another tool is refused before it is read."""
    modern = Modern(tools.url)
    other = modern.call("wipe", {"disk": "x"})
    refused = modern.call("sells", {"house": "x"}, requestState=other["result"]["requestState"])
    assert refused["error"]["code"] == -32602


@pytest.fixture
def client(tools: Tools) -> Client:
    return Client(tools.url)


@pytest.mark.slow
def test_a_task_has_both_open_and_shows_only_what_is_unanswered(
    tools: Tools, client: Client, alice: ScriptedUser
) -> None:
    task = client.begin("sells", {"house": "task"})
    requests = client.stands(task)["inputRequests"]
    yes, form = requests
    both = links(requests)
    assert list(both) == [YES, FORM]
    client.task("update", task, inputResponses={yes: {"action": "accept"}})
    assert list(client.stands(task)["inputRequests"]) == [form]
    alice.submit(both[FORM], plan="pro")
    assert client.stands(task)["status"] == "working"
    assert tools.ran == []
    alice.submit(both[YES])
    assert client.said(task) == f"done: {sold('task')}"
    assert tools.ran == [sold("task")]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["page", "client"])
def test_a_no_to_one_ends_the_task_and_takes_the_other_back(
    tools: Tools, client: Client, alice: ScriptedUser, elicit_box: Service, where: str
) -> None:
    task = client.begin("sells", {"house": where})
    requests = client.stands(task)["inputRequests"]
    _, form = requests
    both = links(requests)
    if where == "page":
        alice.decline(both[FORM])
    else:
        client.task("update", task, inputResponses={form: {"action": "decline"}})
    assert client.said(task).startswith("declined: ")
    assert tools.ran == []
    until(lambda: stands(elicit_box, both[YES]).status is Status.CANCELLED, "the other is taken back")
    assert client.said(task).startswith("declined: "), "what has ended stays as it ended"


@pytest.mark.slow
def test_to_cancel_a_task_takes_both_back(client: Client, elicit_box: Service) -> None:
    task = client.begin("sells", {"house": "cancelled"})
    both = links(client.stands(task)["inputRequests"])
    client.task("cancel", task)
    assert client.stands(task)["status"] == "cancelled"
    assert {stands(elicit_box, url).status for url in both.values()} == {Status.CANCELLED}
    anew = client.call("sells", {"house": "cancelled"}, can=CAN)["result"]
    assert anew["status"] == "input_required"
    assert not set(links(client.stands(anew["taskId"])["inputRequests"]).values()) & set(both.values())


def test_with_one_guard_it_changes_nothing(new_tools: Callable[..., Tools], alice: ScriptedUser) -> None:
    tools = new_tools(settings={"together": True})
    modern = Modern(tools.url)
    first = modern.call("wipe", {"disk": "alone"}, can=URL)
    alice.submit(*asked(first).values())
    assert text(modern.retry(first, "wipe", {"disk": "alone"})) == "done: wiped alone"
