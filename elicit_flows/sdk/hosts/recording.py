"""Record the rounds of a call as JSON, and play them back: in place of the server, or against a server."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypedDict

from elicit_flows.domain.values import Json
from elicit_flows.sdk.hosts.rounds import Send, asked, is_input_required, retry


class Exchange(TypedDict):
    """One request and its response."""

    request: Json
    response: Json


class Diverged(AssertionError):
    """A request or a response differs from the recording."""


class Recorder:
    """A ``send`` that records each request and response in ``exchanges``, which ``json`` can write and read."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.exchanges: list[Exchange] = []

    async def __call__(self, request: Json) -> Json:
        response = await self._send(request)
        self.exchanges.append({"request": request, "response": response})
        return response


class Playback:
    """A ``send`` that answers from a recording. Raises Diverged for any request but the next one recorded.

    Only the ids may differ. ``requestState`` must be byte for byte the same.
    """

    def __init__(self, exchanges: list[Exchange]) -> None:
        self._rest = list(exchanges)

    async def __call__(self, request: Json) -> Json:
        if not self._rest:
            raise Diverged(f"The recording has ended, and the client sent {request}")
        then = self._rest.pop(0)
        if {**request, "id": None} != {**then["request"], "id": None}:
            raise Diverged(f"The recording has {then['request']}, and the client sent {request}")
        return {**then["response"], "id": request["id"]}


async def replay(send: Send, exchanges: list[Exchange]) -> Json:
    """Send the recorded calls to a server, with the recorded answers, and return its last response.

    Keys and states are opaque and differ in each run: today's keys get the recorded answers, in order. Raises Diverged
    when the server asks for something else, or more or less often.
    """
    request = exchanges[0]["request"]
    for then, following in pairwise(exchanges):
        response = await send(request)
        now, before = response.get("result"), then["response"]["result"]
        if not is_input_required(now) or _questions(now) != _questions(before):
            raise Diverged(f"The recording has {before}, and the server answered {response}")
        answers = following["request"]["params"].get("inputResponses", {})
        request = retry(request, now, dict(zip(asked(now), (answers[key] for key in asked(before)), strict=True)))
    response = await send(request)
    if is_input_required(response.get("result")):
        raise Diverged(f"The recording has ended, and the server answered {response}")
    return response


def _questions(result: Json) -> list[Any]:
    """The questions without their links, which are new each time."""
    params = [(one["method"], one.get("params", {})) for one in asked(result).values()]
    return [(method, {name: value for name, value in one.items() if name != "url"}) for method, one in params]
