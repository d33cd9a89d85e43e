"""A chat without a host around it: the bridge, and what it dispatched."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from elicit_flows.domain.values import Claim, Json
from elicit_flows.sdk import Elicit, Outcome, Question
from elicit_flows.sdk.ahp import AhpInputBridge
from tests.sdk.ahp import actions
from tests.support.machine import within


class BareChat:
    """``told`` are the actions in their order, each valid; a client's own that hold are among them, as echoed."""

    def __init__(self, elicit: Elicit, user: Claim, uri: str = "", host: str = "tests") -> None:
        self.elicit = elicit
        self.user = user
        self.uri = uri or f"ahp-chat:/{uuid.uuid4().hex}"
        self.told: list[Json] = []
        self._news = asyncio.Event()
        self._asking: list[asyncio.Task[Any]] = []
        self.bridge = AhpInputBridge(elicit, user, self.uri, self.dispatch, host=host)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    def dispatch(self, action: Json) -> None:
        self.told.append(actions.check(action))
        self._news.set()

    async def until(self, type: str, **members: Any) -> Json:
        """The first action of this type with these members, once it is there."""
        async with asyncio.timeout(within(15)):
            while True:
                self._news.clear()
                for one in self.told:
                    if one["type"] == type and members.items() <= one.items():
                        return one
                await self._news.wait()

    async def ask(self, question: Callable[[AhpInputBridge], Awaitable[Outcome]]) -> tuple[Json, asyncio.Task[Outcome]]:
        """The request, which is the first of this chat, and the task that waits for its end."""
        task = asyncio.ensure_future(_awaited(question(self.bridge)))
        listed = asyncio.ensure_future(self.until("session/inputNeededSet"))
        self._asking += [task, listed]
        await asyncio.wait({task, listed}, return_when=asyncio.FIRST_COMPLETED)
        if not listed.done():
            raise AssertionError("Nothing was requested") from task.exception()
        return (await self.until("chat/inputRequested"))["request"], task

    async def ask_form(self, params: Json | None = None) -> tuple[str, asyncio.Task[Outcome]]:
        """One in AHP's own dialect of questions; the request's id, and the task."""
        question = Question("form", params or actions.ASKED, "Tell me.", {})
        request, task = await self.ask(lambda bridge: bridge.open(question))
        return request["id"], task

    async def say(self, action: Json, client: str = "here") -> str | None:
        reason = await self.bridge.apply(action, client)
        if reason is None:
            self.dispatch(action)
        return reason

    def types(self, only: str = "") -> list[str]:
        return [one["type"] for one in self.told if one["type"].startswith(only)]


async def _awaited(outcome: Awaitable[Outcome]) -> Outcome:
    return await outcome
