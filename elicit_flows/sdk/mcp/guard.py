"""The journey of one call of a guarded tool: who is it, what is asked, how did it end, and only then the tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from elicit_flows.sdk.errors import ElicitError, StillWaiting
from elicit_flows.sdk.mcp import legacy, modern
from elicit_flows.sdk.mcp.asker import Asker
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.functions import Function
from elicit_flows.sdk.mcp.identity import NoUser, user_of
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.mcp.ticket import Ticket
from elicit_flows.sdk.mcp.words import AGAIN, WAITING, words
from elicit_flows.sdk.once import acted_on
from elicit_flows.sdk.outcomes import Cancelled, Completed, Declined, Expired, Failed, Outcome
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation

GUARD = "__elicit_guard__"
CONNECTS = ("oauth", "credentials")  # what they come to lasts: acting on it twice is no fault
Asks = Callable[..., Question | Awaitable[Question | None] | None]


@dataclass(frozen=True, slots=True)
class Guard:
    """A tool's function with all that is asked before it runs, the first first."""

    function: Function
    asks: tuple[tuple[Asker, Asks], ...]

    @classmethod
    def around(cls, tool: Callable[..., Any], asker: Asker, make: Asks) -> Callable[..., Any]:
        """The tool as the library is to have it; a guarded one gets one more guard."""
        inner: Self | None = getattr(tool, GUARD, None)
        function, asks = (inner.function, inner.asks) if inner else (Function.of(tool), ())
        return cls(function, ((asker, make), *asks)).tool()

    def tool(self) -> Callable[..., Any]:
        """A coroutine function with the name and words of the tool's own."""
        function = self.function

        async def guarded(**arguments: Any) -> Any:
            return await self._call(arguments.pop(function.context), arguments)

        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(guarded, name, getattr(function.call, name))
        hints = {one.name: one.annotation for one in function.signature.parameters.values()}
        given = {name: hint for name, hint in hints.items() if hint is not inspect.Parameter.empty}
        returned = function.signature.return_annotation
        guarded.__annotations__ = given | ({} if returned is inspect.Signature.empty else {"return": returned})
        guarded.__signature__ = function.signature  # type: ignore[attr-defined]
        setattr(guarded, GUARD, self)
        return guarded

    async def _call(self, context: Any, arguments: dict[str, Any]) -> Any:
        call = Call(context)
        try:
            return await self._guarded(call, context, arguments)
        except (NoUser, ElicitError) as refused:
            if call.attempt.survives(refused):
                return call.leave()
            raise call.tool_error(str(refused)) from refused

    async def _guarded(self, call: Call, context: Any, arguments: dict[str, Any]) -> Any:
        tickets = await self._tickets(call, arguments)
        ended: list[tuple[Asker, Completed]] = []
        for at, (asker, _) in enumerate(tickets):
            answer = await self._asked(call, asker, [ticket for _, ticket in tickets[at:]])
            if isinstance(answer, Elicitation):
                return self._say(call, WAITING.format(url=answer.url))
            if isinstance(answer, (Declined, Cancelled, Expired, Failed)):
                if not await acts(call, [(asker, answer)]) and call.attempt.goes_on:
                    return call.leave()
                return self._say(call, words(asker.settings, answer))
            if not isinstance(answer, Completed):
                return answer
            ended.append((asker, answer))
        if not await acts(call, ended):
            return call.leave() if call.attempt.goes_on else self._say(call, AGAIN)
        for asker, done in ended:
            await _after(asker.settings, done)
        if any(done.elicitation.kind in CONNECTS and not done.reused for _, done in ended):
            await call.tools_changed()
        with call.no_legacy_refusal():
            return await self.function.run(context, arguments, [done for _, done in ended])

    async def _tickets(self, call: Call, arguments: dict[str, Any]) -> list[tuple[Asker, Ticket]]:
        found = []
        for place, (asker, make) in enumerate(self.asks):
            question = make(**arguments)
            if inspect.isawaitable(question):
                question = await question
            if question is None:
                continue
            user = user_of(asker.settings, call.token)
            client = call.token.client_id if call.token else ""
            asked = (question.kind, question.params, question.message)
            key = self.function.digest(place, user.iss, user.sub, client, asked, arguments)
            found.append((asker, Ticket(place, key, question, user)))
        return found

    async def _asked(self, call: Call, asker: Asker, tickets: list[Ticket]) -> Outcome | Elicitation | Any:
        try:
            if call.modern:
                return await modern.asked(asker.elicit(), asker.settings, call, tickets[0])
            return await legacy.asked(asker.elicit(), asker.settings, asker.followers, call, tickets)
        except StillWaiting as waiting:
            return waiting.elicitation

    def _say(self, call: Call, text: str) -> Any:
        """The tool's own answer; where that is no text it has to be an error."""
        if self.function.text:
            return text
        raise call.tool_error(text)


async def acts(call: Call, ended: Sequence[tuple[Asker, Outcome]]) -> bool:
    """Whether this is the run that acts on how it ended. What connects may be acted on by several, but for a task: it
    has one result.
    """
    await call.attempt.begins()
    for asker, outcome in reversed(ended):  # a task looks at the last
        first = await acted_on(asker.elicit(), outcome.elicitation)
        if not first and (call.attempt.goes_on or outcome.elicitation.kind not in CONNECTS):
            return False
    call.attempt.acts = True
    return True


async def _after(settings: Settings, done: Completed) -> None:
    if settings.after:
        waited = settings.after(done)
        if inspect.isawaitable(waited):
            await waited
