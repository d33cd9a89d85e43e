"""A guarded function: who the user is, what is asked, how it ended, and only then the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from mcp import types

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.functions import dressed, outcome_parameters
from elicit_flows.sdk.mcp import messages
from elicit_flows.sdk.mcp.asking import Asks, Ended, Fixed, Run
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.functions import Function
from elicit_flows.sdk.mcp.identity import NoUser
from elicit_flows.sdk.mcp.messages import NotRun, Words

GUARD = "__elicit_guard__"


@dataclass(frozen=True, slots=True)
class Guard:
    """A tool's function with the questions that are asked before it runs, in order. ``asker``: the innermost guard's,
    whose user and server the function's runs belong to.
    """

    function: Function
    asker: Asker
    asks: tuple[tuple[Asker, Asks], ...]

    @classmethod
    def around(cls, tool: Callable[..., Any], asker: Asker, make: Asks | None) -> Callable[..., Any]:
        """The tool as the library gets it. A tool that is guarded already gets one guard more. ``make``: None asks
        nothing before the tool runs.
        """
        inner: Self | None = getattr(tool, GUARD, None)
        function, first, asks = (inner.function, inner.asker, inner.asks) if inner else (Function.of(tool), asker, ())
        return cls(function, first, ((asker, make), *asks) if make else asks).tool()

    def tool(self) -> Callable[..., Any]:
        """A coroutine function with the name and docstring of the tool's own."""
        function = self.function

        async def guarded(**arguments: Any) -> Any:
            return await self.call(arguments.pop(function.context), arguments)

        tool = dressed(guarded, function.call, function.signature)
        setattr(tool, GUARD, self)
        return tool

    async def call(self, context: Any, arguments: dict[str, Any]) -> Any:
        """Ask, and run the function. ``context``: what the library passes to a tool. Returns the tool's result, or one
        that says why the tool was not run.
        """
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
        run = Run(self.asker, self.function, call, arguments, len(self.asks))
        try:
            await run.resume()
            await self._ask(run)
            await run.act()
            with run.made(), call.no_legacy_refusal():
                return await self.function.run(context, arguments, run.outcomes())
        except Ended as ended:
            if ended.error is None:
                return ended.result
            raise ended.error from ended

    async def _ask(self, run: Run) -> None:
        """Ask what the guards ask. Those that need no outcome of an earlier one say what at once, because a refusal
        has to name all that the call needs, and ``together`` asks it all.
        """
        asks = list(enumerate(self.asks))
        questions = {
            place: await run.pending(asker, place, make)
            for place, (asker, make) in asks
            if not outcome_parameters(make)
        }
        asked = set[int]()
        for place, (asker, make) in asks:
            pending = questions[place] if place in questions else await run.pending(asker, place, make)
            if pending is None or place in asked:
                continue
            later = [one for at, one in questions.items() if one is not None and at > place and at not in asked]
            now = [pending]
            if asker.settings.together:
                now += [one for one in later if self.asks[one.place][0] == asker]
            asked.update(one.place for one in now)
            await run.guards(asker, now, [one for one in later if one.place not in asked])

    @property
    def confirms(self) -> bool:
        """Whether it asks for a yes, whatever the arguments are."""
        return any(isinstance(make, Fixed) and make.question.kind == "confirm" for _, make in self.asks)

    def _say(self, call: Call, said: Words) -> Any:
        """The result of a tool that was not run."""
        return call.answer(said, text=self.function.text, structured=self.function.free)


def hints(tool: Callable[..., Any], given: Any) -> Any:
    """The annotations of a tool: those ``given`` (the library's object, a dict or None), and what its guards say."""
    guard: Guard | None = getattr(tool, GUARD, None)
    if guard is None or not guard.confirms:
        return given
    said = given.model_dump(by_alias=True, exclude_none=True) if hasattr(given, "model_dump") else (given or {})
    return types.ToolAnnotations.model_validate({"destructiveHint": True, **said})
