"""One call in several rounds (MCP 2026-07-28, basic/patterns/mrtr): ask, answer, the same call again."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, TypeGuard

from elicit_flows.values import Json
from elicit_flows.wires.mcp_2026_07_28 import RESULT_TYPE

Send = Callable[[Json], Awaitable[Json]]
Answer = Callable[[str, Json], Awaitable[Json]]

MOST_ROUNDS = 10  # as in the clients of MCP's own SDKs; the specification sets no limit
PAUSE = 0.25  # seconds before a retry that has nothing to answer


class Unanswered(ValueError):
    """A retry needs an answer to each question of the round, and to no other."""


class TooManyRounds(Exception):
    """The server went on asking. ``response`` is its last."""

    def __init__(self, rounds: int, response: Json) -> None:
        super().__init__(f"After {rounds} retries the call is still not done")
        self.response = response


def is_input_required(result: Any) -> TypeGuard[Json]:
    """Whether the call has to come again. A result that is only half of that shape says nothing to act on."""
    if not isinstance(result, dict) or result.get("resultType") != RESULT_TYPE:
        return False
    parts = {"inputRequests": _is_map, "requestState": _is_text}
    there = [name for name in parts if name in result]
    return bool(there) and all(parts[name](result[name]) for name in there)


def _is_text(state: Any) -> bool:
    return isinstance(state, str)


def _is_map(requests: Any) -> bool:
    return isinstance(requests, dict) and all(_is_request(one) for one in requests.values())


def _is_request(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("method"), str) and isinstance(one.get("params", {}), dict)


def asked(result: Json) -> dict[str, Json]:
    """What there is to answer, by key: ``{method, params}`` each. Nothing where the server only needs time."""
    return dict(result.get("inputRequests", {}))


def retry(request: Json, result: Json, answers: dict[str, Json], *, id: str | int | None = None) -> Json:
    """The same call with ``answers``, which are bare results by key, and the server's state as it came.

    ``id``: of the new request, None for a random one. Raises Unanswered.
    """
    wanted = asked(result).keys()
    if answers.keys() != wanted:
        raise Unanswered(f"The server asked for {sorted(wanted)}, and there are answers to {sorted(answers)}")
    params = {
        name: value for name, value in request["params"].items() if name not in ("inputResponses", "requestState")
    }
    if answers:
        params["inputResponses"] = answers
    if "requestState" in result:
        params["requestState"] = result["requestState"]
    return {**request, "id": uuid.uuid4().hex if id is None else id, "params": params}


async def run(send: Send, request: Json, answer: Answer, *, max_rounds: int = MOST_ROUNDS) -> Json:
    """The response that needs nothing more: a result of the call's own, or an error.

    ``answer`` is given key and request of each question, one after the other, and gives a bare result. Raises
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
