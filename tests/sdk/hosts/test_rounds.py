"""Calls that come again, against a server of the library ``mcp`` on the real wire: rows MT-1 to MT-7 and MT-9."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.domain.values import Json
from elicit_flows.sdk.hosts import (
    Scripted,
    TooManyRounds,
    Unanswered,
    Unscripted,
    asked,
    is_input_required,
    retry,
    run,
)
from elicit_flows.sdk.testing import ScriptedUser
from tests.kinds.form.strategies import ANYTHING
from tests.sdk.hosts.wire import MCP, Http, call, text

pytestmark = pytest.mark.anyio

PRO = {"plan": "pro"}
ASKED = {"one": {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "http://a.test/"}}}
ACCEPTED = {"action": "accept", "content": PRO}
NOBODY = Scripted({})


@pytest.mark.parametrize(
    "parts",
    [
        {"inputRequests": ASKED},
        {"requestState": "s"},
        {"requestState": ""},
        {"inputRequests": ASKED, "requestState": "s"},
    ],
)
def test_mt_1_a_result_with_either_part_is_an_input_request(parts: Json) -> None:
    assert is_input_required({"resultType": "input_required", **parts})
    assert asked({"resultType": "input_required", **parts}) == parts.get("inputRequests", {})
    assert not is_input_required(parts)
    assert not is_input_required({"resultType": "complete", **parts})


@pytest.mark.parametrize(
    "parts",
    [
        {}, {"inputRequests": None}, {"requestState": None}, {"requestState": 3}, {"inputRequests": [{"id": "one"}]},
        {"inputRequests": {"one": None}}, {"inputRequests": {"one": {}}}, {"inputRequests": {"one": {"method": 1}}},
        {"inputRequests": {"one": {"method": "elicitation/create", "params": []}}},
        {"inputRequests": [{"id": "one"}], "requestState": "s"}, {"inputRequests": ASKED, "requestState": {}},
    ],
)  # fmt: skip
async def test_mt_1_half_a_shape_is_no_input_request(parts: Json) -> None:
    response = {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", **parts}}

    async def send(request: Json) -> Json:
        sent.append(request)
        return response

    sent: list[Json] = []
    assert not is_input_required(response["result"])
    assert await run(send, call("any"), NOBODY) == response
    assert len(sent) == 1


@given(ANYTHING)
def test_mt_1_no_json_is_more_than_one_or_the_other(result: Any) -> None:
    assert not is_input_required(result)
    found = {"resultType": "input_required", "inputRequests": result}
    if is_input_required(found):
        assert asked(found) == result


async def test_mt_1_a_tools_own_members_are_not_taken_for_it(send: Http) -> None:
    response = await run(send, call("lookalike"), NOBODY)
    assert response["result"]["structuredContent"]["resultType"] == "input_required"
    assert len(send.sent) == 1


async def test_mt_2_every_question_has_its_answer_before_the_retry(send: Http) -> None:
    script = Scripted({"The first": PRO, "The second": {"plan": "free"}})
    assert text(await run(send, call("both"), script)) == "{'plan': 'pro'} {'plan': 'free'} asked"
    assert send.sent[1]["params"]["inputResponses"] == {
        "first": {"action": "accept", "content": PRO}, "second": {"action": "accept", "content": {"plan": "free"}},
    }  # fmt: skip


async def test_mt_2_what_is_optional_may_be_left_out_and_what_is_required_may_not(send: Http) -> None:
    assert "seats" not in text(await run(send, call("choose", word="a"), Scripted({"plan": PRO})))
    more = Scripted({"plan": PRO | {"seats": 3, "unasked": 1}})
    assert "'seats': 3" in text(await run(send, call("choose", word="a"), more))
    assert send.sent[-1]["params"]["inputResponses"]["one"]["content"] == PRO | {"seats": 3}
    sent = len(send.sent)
    for script in ({"plan": {"seats": 3}}, {"The second": PRO}, {"plan": "ok"}, {"plan": print}):
        with pytest.raises(Unscripted):
            await run(send, call("choose", word="a"), Scripted(script))
    assert [one["id"] for one in send.sent[sent:]] == ["the-first"] * 4
    with pytest.raises(Unscripted):
        await Scripted({"?": PRO})("one", ASKED["one"])  # a link has no values


@pytest.mark.parametrize("answers", [{}, {"two": ACCEPTED}, {"one": ACCEPTED, "two": ACCEPTED}])
def test_mt_2_a_retry_has_an_answer_to_each_question_and_to_no_other(answers: Any) -> None:
    result = {"resultType": "input_required", "inputRequests": ASKED}
    with pytest.raises(Unanswered):
        retry(call("any"), result, answers)
    assert retry(call("any"), result, {"one": ACCEPTED})["params"]["inputResponses"] == {"one": ACCEPTED}


@pytest.mark.parametrize("rounds", [0, 1, 10])
async def test_mt_3_a_server_that_asks_for_ever_is_left(send: Http, rounds: int) -> None:
    script = Scripted({"Again": PRO})
    with pytest.raises(TooManyRounds) as raised:
        await run(send, call("endless"), script, max_rounds=rounds)
    assert len(send.sent) == rounds + 1
    assert len(script.asked) == rounds
    assert raised.value.response == send.heard[-1]


async def test_mt_3_as_many_rounds_as_are_allowed_are_made(send: Http) -> None:
    assert text(await run(send, call("count", to=3), Scripted({"Number": PRO}), max_rounds=3)).startswith("answered")
    with pytest.raises(TooManyRounds):
        await run(send, call("count", to=4), Scripted({"Number": PRO}), max_rounds=3)


async def test_mt_3_a_server_that_needs_time_gets_it(send: Http) -> None:
    began = time.monotonic()
    assert text(await run(send, call("idle", times=2), NOBODY)) == "rested"
    assert time.monotonic() - began > 0.5
    assert ["inputResponses" in one["params"] for one in send.sent] == [False] * 3


async def test_mt_4_a_retry_is_the_same_call_under_another_id(send: Http) -> None:
    request = call("choose", word="Grüße, 世界")
    before = copy.deepcopy(request)
    assert text(await run(send, request, Scripted({"plan": PRO}))) == "Grüße, 世界 {'plan': 'pro'} None"
    assert request == before
    first, second = send.sent
    assert first == request
    assert second["id"] != first["id"]
    assert {**second, "id": first["id"], "params": {**second["params"]}} == {
        **first, "params": {**first["params"], "inputResponses": {"one": ACCEPTED}},
    }  # fmt: skip


async def test_mt_4_no_two_requests_have_one_id(send: Http) -> None:
    await run(send, call("count", to=4), Scripted({"Number": PRO}))
    assert len({one["id"] for one in send.sent}) == 5


def test_mt_4_an_id_of_ones_own_is_taken() -> None:
    assert retry(call("any"), {"resultType": "input_required", "requestState": "s"}, {}, id=7)["id"] == 7


@given(st.text())
def test_mt_5_the_state_comes_back_as_it_was(state: str) -> None:
    found = retry(call("any"), {"resultType": "input_required", "requestState": state}, {})
    assert found["params"]["requestState"] == state
    assert "inputResponses" not in found["params"]


async def test_mt_5_the_state_is_the_last_rounds_and_none_where_there_was_none(send: Http) -> None:
    await run(send, call("count", to=3), Scripted({"Number": PRO}))
    states = [one["result"]["requestState"] for one in send.heard[:-1]]
    assert len(set(states)) == 3
    assert [one["params"].get("requestState") for one in send.sent] == [None, *states]
    earlier = send.sent[1]
    stateless = retry(earlier, {"resultType": "input_required", "inputRequests": {}}, {})
    assert stateless["params"].keys() == {"name", "arguments", "_meta"}


async def test_mt_5_a_server_takes_no_state_that_was_touched(send: Http) -> None:
    response = await send(call("count", to=1))
    again = retry(call("count", to=1), response["result"], {"q0": ACCEPTED})
    state = again["params"]["requestState"]
    again["params"]["requestState"] = state[:-1] + ("A" if state[-1] != "A" else "B")
    assert (await send(again))["error"]["code"] == -32602


async def test_mt_6_any_process_of_the_server_takes_the_retry(
    servers: list[str], new_send: Callable[..., Http]
) -> None:
    ports = [url.split(":")[2].partition("/")[0] for url in servers]
    told = text(await run(new_send(*servers), call("count", to=5), Scripted({"Number": PRO})))
    assert told == f"answered at {' '.join([ports[1], ports[0]] * 3).rsplit(' ', 1)[0]}"


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_mt_7_a_script_may_say_no(send: Http, action: str) -> None:
    script = Scripted({"plan": action})
    assert text(await run(send, call("choose", word="a"), script)) == f"a {action} None"
    assert script.asked == ["Which plan?"]


@pytest.mark.parametrize(("act", "status"), [(ScriptedUser.submit, "completed"), (ScriptedUser.decline, "declined")])
async def test_mt_7_a_script_may_follow_the_link_as_a_person_would(
    send: Http, elicit_user: Callable[[str], ScriptedUser], act: Callable[..., None], status: str
) -> None:
    alice = elicit_user("alice")
    script = Scripted({"May I": lambda url: act(alice, url)})
    request = call("visit", iss=alice.claim.iss, sub=alice.claim.sub)
    assert text(await run(send, request, script)) == f"visited: {status}"
    [asking] = asked(send.heard[0]["result"]).values()
    MCP.check("ElicitRequestURLParams", asking["params"])


async def test_mt_9_a_result_or_an_error_of_the_calls_own_passes_through(send: Http) -> None:
    response = await run(send, call("plain", word="x"), NOBODY)
    assert text(response) == "plain x"
    assert [response] == send.heard
    response = await run(send, call("plain"), NOBODY)
    assert response["result"]["isError"]
    response = await run(send, call("plain", word="x") | {"method": "tools/none"}, NOBODY)
    assert response["error"]["code"] == -32601
    assert len(send.sent) == 3
