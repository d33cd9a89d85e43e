"""What was said in the rounds of a call, kept as JSON, and played again: in place of the server, or against one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypedDict

from elicit_flows.sdk.hosts.rounds import Send, asked, is_input_required, retry
from elicit_flows.values import Json


class Exchange(TypedDict):
    """One round."""

    request: Json
    response: Json


class Diverged(AssertionError):
    """What is said is not what was recorded."""


class Recorder:
    """A ``send`` that keeps what went through it in ``exchanges``, which ``json`` can write and read."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.exchanges: list[Exchange] = []

    async def __call__(self, request: Json) -> Json:
        response = await self._send(request)
        self.exchanges.append({"request": request, "response": response})
        return response


class Playback:
    """A ``send`` that is the server of a recording. Raises Diverged for any request but the next one recorded.

    Only the ids are the caller's own. ``requestState`` has to come back to the byte.
    """

    def __init__(self, exchanges: list[Exchange]) -> None:
        self._rest = list(exchanges)

    async def __call__(self, request: Json) -> Json:
        if not self._rest:
            raise Diverged(f"The recording has ended, and here comes {request}")
        then = self._rest.pop(0)
        if _without_id(request) != _without_id(then["request"]):
            raise Diverged(f"The recording has {then['request']}, and here comes {request}")
        return {**then["response"], "id": request["id"]}


async def replay(send: Send, exchanges: list[Exchange]) -> Json:
    """The recorded calls made to a server of today, with the recorded answers; its last response.

    Keys and states are opaque and the server's own: today's are answered, in the order of the recorded ones. Raises
    Diverged when the server asks for something else, or not as often.
    """
    request = exchanges[0]["request"]
    for then, following in pairwise(exchanges):
        response = await send(request)
        now, before = response.get("result"), then["response"]["result"]
        if not is_input_required(now) or _questions(now) != _questions(before):
            raise Diverged(f"The recording has {before}, and the server says {response}")
        answers = following["request"]["params"].get("inputResponses", {})
        request = retry(request, now, dict(zip(asked(now), (answers[key] for key in asked(before)), strict=True)))
    response = await send(request)
    if is_input_required(response.get("result")):
        raise Diverged(f"The recording has ended, and the server says {response}")
    return response


def _without_id(request: Json) -> Json:
    return {name: value for name, value in request.items() if name != "id"}


def _questions(result: Json) -> list[Any]:
    """What is asked, but for links, which are new each time."""
    params = [(one["method"], one.get("params", {})) for one in asked(result).values()]
    return [(method, {name: value for name, value in one.items() if name != "url"}) for method, one in params]
