"""One call in several rounds (MCP 2026-07-28, basic/patterns/mrtr): the server asks, the client answers and calls
again.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, TypeGuard

from elicit_flows.domain.values import Json
from elicit_flows.wires.mcp_2026_07_28 import RESULT_TYPE

Send = Callable[[Json], Awaitable[Json]]
Answer = Callable[[str, Json], Awaitable[Json]]

MOST_ROUNDS = 10  # the limit in MCP's own SDKs; the specification sets none
PAUSE = 0.25  # seconds before a retry without answers


class Unanswered(ValueError):
    """The answers do not match the questions of the round: each question needs one, and there may be no others."""


class TooManyRounds(Exception):
    """The server still asks after the allowed number of retries. ``response`` is its last one."""

    def __init__(self, rounds: int, response: Json) -> None:
        super().__init__(f"After {rounds} retries the call is still not done")
        self.response = response


def is_input_required(result: Any) -> TypeGuard[Json]:
    """Whether the call has to be sent again. A result with only half of that shape does not count."""
    if not isinstance(result, dict) or result.get("resultType") != RESULT_TYPE:
        return False
    requests, state = result.get("inputRequests", {}), result.get("requestState", "")
    if not {"inputRequests", "requestState"} & result.keys() or not isinstance(state, str):
        return False
    return isinstance(requests, dict) and all(
        (isinstance(one, dict) and isinstance(one.get("method"), str) and isinstance(one.get("params", {}), dict))
        for one in requests.values()
    )


def asked(result: Json) -> dict[str, Json]:
    """The questions of the round by key, each ``{method, params}``. Empty if the server only needs more time."""
    return dict(result.get("inputRequests", {}))


def retry(request: Json, result: Json, answers: dict[str, Json], *, id: str | int | None = None) -> Json:
    """Return the same call with ``answers`` (bare results by key) and the server's state, unchanged.

    ``id`` is the new request's; None makes a random one. Raises Unanswered.
    """
    wanted = asked(result).keys()
    if answers.keys() != wanted:
        raise Unanswered(f"The server asked for {sorted(wanted)}, but the answers are for {sorted(answers)}")
    params = {
        name: value for name, value in request["params"].items() if name not in ("inputResponses", "requestState")
    }
    if answers:
        params["inputResponses"] = answers
    if "requestState" in result:
        params["requestState"] = result["requestState"]
    return {**request, "id": uuid.uuid4().hex if id is None else id, "params": params}


async def run(send: Send, request: Json, answer: Answer, *, max_rounds: int = MOST_ROUNDS) -> Json:
    """Send the call until it needs nothing more, and return that response: the call's own result, or an error.

    ``answer`` receives key and request of each question, one after the other, and returns a bare result. Raises
    TooManyRounds after ``max_rounds`` retries.
    """
    response = await send(request)
    for _ in range(max_rounds):
        result = response.get("result")
        if not is_input_required(result):
            return response
        answers = {key: await answer(key, one) for key, one in asked(result).items()}
        if not answers:
            await asyncio.sleep(PAUSE)
        request = retry(request, result, answers)
        response = await send(request)
    if is_input_required(response.get("result")):
        raise TooManyRounds(max_rounds, response)
    return response
