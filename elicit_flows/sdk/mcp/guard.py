"""One call of a guarded tool: who the user is, what is asked, how it ended, and only then the tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from elicit_flows.sdk.errors import ElicitError, StillWaiting
from elicit_flows.sdk.idempotency import acted_on
from elicit_flows.sdk.mcp import messages, revision_2025_11_25, revision_2026_07_28
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.functions import Function
from elicit_flows.sdk.mcp.identity import NoUser, user_of
from elicit_flows.sdk.mcp.messages import NotRun, Words
from elicit_flows.sdk.mcp.pending_question import Ticket
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.outcomes import Cancelled, Completed, Declined, Expired, Failed, Outcome
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation

GUARD = "__elicit_guard__"
CONNECTS = ("oauth", "credentials")  # a connection lasts, so acting on it twice does no harm
Asks = Callable[..., Question | Awaitable[Question | None] | None]


@dataclass(frozen=True, slots=True)
class Guard:
    """A tool's function with the questions that are asked before it runs, in order."""

    function: Function
    asks: tuple[tuple[Asker, Asks], ...]

    @classmethod
    def around(cls, tool: Callable[..., Any], asker: Asker, make: Asks) -> Callable[..., Any]:
        """The tool as the library gets it. A tool that is guarded already gets one guard more."""
        inner: Self | None = getattr(tool, GUARD, None)
        function, asks = (inner.function, inner.asks) if inner else (Function.of(tool), ())
        return cls(function, ((asker, make), *asks)).tool()

    def tool(self) -> Callable[..., Any]:
        """A coroutine function with the name and docstring of the tool's own."""
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
        except NotRun as ended:
            return self._say(call, ended.words)
        except NoUser as refused:
            return self._say(call, messages.refused(str(refused), "no_user"))
        except ElicitError as refused:
            if call.attempt.survives(refused):
                return call.leave()
            return self._say(call, messages.unavailable(refused, self.function.call.__qualname__, begun=call.begun))

    async def _guarded(self, call: Call, context: Any, arguments: dict[str, Any]) -> Any:
        tickets = await self._tickets(call, arguments)
        ended: list[tuple[Asker, Completed]] = []
        for at, (asker, ticket) in enumerate(tickets):
            answer = await self._asked(call, asker, [ticket for _, ticket in tickets[at:]])
            if isinstance(answer, Elicitation):
                return self._say(call, messages.waiting(answer))
            if isinstance(answer, (Declined, Cancelled, Expired, Failed)):
                if not await tells(call, asker, ticket, answer) and call.attempt.goes_on:
                    return call.leave()
                return self._say(call, messages.ended(asker.settings, answer))
            if not isinstance(answer, Completed):
                return answer
            ended.append((asker, answer))
        if not await acts(call, ended):
            return call.leave() if call.attempt.goes_on else self._say(call, messages.used(ended[-1][1].elicitation))
        call.begun = True
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
            asked = (question.kind, question.params, question.message, question.options)
            key = self.function.digest(
                call.server(asker.settings), place, user.iss, user.sub, call.who, asked, arguments
            )
            found.append((asker, Ticket(place, key, question, user, asker.settings.ask_again_after)))
        return found

    async def _asked(self, call: Call, asker: Asker, tickets: list[Ticket]) -> Outcome | Elicitation | Any:
        try:
            if call.modern:
                return await revision_2026_07_28.asked(asker.elicit(), asker.settings, call, tickets[0])
            return await revision_2025_11_25.asked(asker.elicit(), asker.settings, asker.followers, call, tickets)
        except StillWaiting as waiting:
            return waiting.elicitation

    def _say(self, call: Call, said: Words) -> Any:
        """The result of a tool that was not run."""
        return call.answer(said, text=self.function.text, structured=self.function.free)


async def tells(call: Call, asker: Asker, ticket: Ticket, no: Outcome) -> bool:
    """Whether this run is the one that reports the no. A user who declined is not asked again for a while."""
    if isinstance(no, Declined) and ticket.ask_again_after and await ticket.keep(asker.elicit(), no):
        await call.attempt.begins()
        call.attempt.acts = True
        return True
    return await acts(call, [(asker, no)])


async def acts(call: Call, ended: Sequence[tuple[Asker, Outcome]]) -> bool:
    """Whether this run is the one that acts on the outcomes.

    Several runs may act on a connection, but a task has one result, so only one run of a task may.
    """
    await call.attempt.begins()
    for asker, outcome in reversed(ended):  # a task is recorded as acted on by its last question
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
