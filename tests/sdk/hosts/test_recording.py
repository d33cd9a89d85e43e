"""Row MT-8: what was said is kept, and played again in place of the server or against one of today."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from elicit_flows.sdk.hosts import Diverged, Exchange, Playback, Recorder, Scripted, replay, run
from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.hosts.wire import Http, call, text

pytestmark = pytest.mark.anyio

PRO, FREE = {"plan": "pro"}, {"plan": "free"}
BOTH = {"The first": PRO, "The second": FREE}


async def recorded(send: Http, script: dict[str, object], tool: str, **arguments: object) -> list[Exchange]:
    """As it comes back from a file."""
    recorder = Recorder(send)
    await run(recorder, call(tool, **arguments), Scripted(script))
    return json.loads(json.dumps(recorder.exchanges))


async def test_mt_8_a_recorder_keeps_what_went_out_and_came_back(send: Http) -> None:
    exchanges = await recorded(send, BOTH, "both")
    assert [one["request"] for one in exchanges] == send.sent
    assert [one["response"] for one in exchanges] == send.heard


async def test_mt_8_a_recording_takes_the_place_of_the_server(send: Http) -> None:
    exchanges = await recorded(send, {"Number": PRO}, "count", to=3)
    went_out = len(send.sent)
    request = call("count", to=3) | {"id": "another"}
    response = await run(Playback(exchanges), request, Scripted({"Number": PRO}))
    assert text(response) == text(exchanges[-1]["response"])
    assert len(send.sent) == went_out
    assert (await Playback(exchanges)(request))["id"] == "another"


async def test_mt_8_a_host_that_says_something_else_is_caught(send: Http) -> None:
    exchanges = await recorded(send, BOTH, "both")
    for other in (call("both", more=1), call("plain")):
        with pytest.raises(Diverged):
            await Playback(exchanges)(other)
    with pytest.raises(Diverged):
        await run(Playback(exchanges), call("both"), Scripted({"The": FREE}))
    with pytest.raises(Diverged):
        await run(Playback(exchanges[:1]), call("both"), Scripted(BOTH))


async def test_mt_8_a_state_that_was_touched_is_caught(send: Http) -> None:
    exchanges = await recorded(send, BOTH, "both")
    playback = Playback(exchanges)
    await playback(call("both"))
    touched = json.loads(json.dumps(exchanges[1]["request"]))
    touched["params"]["requestState"] += " "
    with pytest.raises(Diverged):
        await playback(touched)


async def test_mt_8_a_recording_is_made_again_with_states_of_today(
    servers: list[str], send: Http, new_send: Callable[..., Http]
) -> None:
    exchanges = await recorded(send, {"Number": PRO}, "count", to=3)
    today = new_send(servers[1])
    response = await replay(today, exchanges)
    assert text(response).startswith("answered at")
    then = [one["request"]["params"].get("requestState") for one in exchanges]
    now = [one["params"].get("requestState") for one in today.sent]
    assert now[0] is then[0] is None
    assert not set(now[1:]) & set(then[1:])


async def test_mt_8_the_keys_and_links_of_today_may_be_others(
    send: Http, elicit_user: Callable[[str], ScriptedUser]
) -> None:
    alice = elicit_user("alice")
    who = {"iss": alice.claim.iss, "sub": alice.claim.sub}
    exchanges = await recorded(send, {"May I": alice.submit}, "visit", **who)
    sent = len(send.sent)

    async def with_alice(request: dict[str, object]) -> dict[str, object]:
        response = await send(request)
        for one in response["result"].get("inputRequests", {}).values():
            alice.decline(one["params"]["url"])
        return response

    assert text(await replay(with_alice, exchanges)) == "visited: declined"
    first, second = send.heard[0]["result"], send.heard[sent]["result"]
    assert first["inputRequests"].keys() != second["inputRequests"].keys()
    assert send.sent[-1]["params"]["inputResponses"].keys() == second["inputRequests"].keys()


async def test_mt_8_a_server_that_asks_something_else_is_caught(send: Http) -> None:
    three, two = [await recorded(send, {"Number": PRO}, "count", to=number) for number in (3, 2)]
    both, one = await recorded(send, BOTH, "both"), await recorded(send, {"plan": PRO}, "choose", word="a")
    idle, plain = await recorded(send, {}, "idle", times=1), await recorded(send, {}, "plain", word="x")
    for first, then in ((two, three), (three, two), (both, one), (one, both), (plain, idle), (idle, plain)):
        mixed: list[Exchange] = [{**then[0], "request": first[0]["request"]}, *then[1:]]
        with pytest.raises(Diverged):
            await replay(send, mixed)
