"""What the guards of all frameworks have in common."""

from __future__ import annotations

import asyncio
import inspect
import typing
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import Answer
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.functions import dressed, hinted_parameters, outcome_parameters
from elicit_flows.sdk.idempotency import named, no_address
from elicit_flows.sdk.outcomes import Completed
from elicit_flows.sdk.questions import Question, Questions
from elicit_flows.sdk.shapes import Elicitation, Event, User, claim
from elicit_flows.sdk.sync import SyncElicit

Tool = Callable[..., Any]
Guard = Callable[[Tool], Tool]
Asks = Callable[..., Question | Awaitable[Question | None] | None]
GUARDED = "__elicit_guarded__"
ONE_GUARD = "A tool has one guard. Ask for several things in order with flows.steps(…)."


@dataclass(frozen=True, slots=True)
class Function:
    """A tool's function. ``context``: the parameter by which the framework passes its context, if the framework has
    one; ``own``: whether the function itself takes it. ``outcome``: the parameter that takes the outcome, if any.
    """

    call: Tool
    asks: Asks
    signature: inspect.Signature
    context: str | None
    own: bool
    outcome: str | None

    @classmethod
    def of(cls, call: Tool, asks: Asks, contexts: tuple[type, ...], name: str) -> Function:
        outcomes = outcome_parameters(call)
        if len(outcomes) > 1 or getattr(call, GUARDED, False):
            raise TypeError(ONE_GUARD)
        kept = hinted_parameters(call)
        context = own = None
        for one in kept:
            said = typing.get_origin(one.annotation) or one.annotation
            if own is None and isinstance(said, type) and issubclass(said, contexts):
                context = own = one.name
        if contexts and own is None:
            context = name
            kept.insert(0, inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=contexts[0]))
        returned = typing.get_type_hints(call, include_extras=True).get("return", inspect.Signature.empty)
        signature = inspect.Signature(kept, return_annotation=returned)
        return cls(call, asks, signature, context, own is not None, next(iter(outcomes), None))

    def given(self, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """The framework's context, None if it passes none, and the arguments of the model."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        return (arguments.pop(self.context) if self.context else None), arguments

    def passed(self, context: Any, arguments: dict[str, Any], outcome: Completed | None) -> dict[str, Any]:
        """What the function itself is called with."""
        own = {self.context: context} if self.own and self.context else {}
        return {**arguments, **own, **({self.outcome: outcome} if self.outcome and outcome else {})}


class FrameworkFlows(Questions[Guard]):
    """Each method makes a decorator, to be put below the framework's own. It asks before the tool runs.

    The outcome is passed to the parameter of the tool that has the type ``Completed`` or ``Answered``. Its other
    parameters are those that the model fills in.

    ``user``: the user of all runs, or a function or coroutine function that returns the user for the framework's
    context of a call. ``app``:
    a name that no other app with the same API key has; all processes of the app have the same. ``elicit``: an
    ``Elicit`` for tools that are coroutine functions, a ``SyncElicit`` for others; None makes one from the environment.
    """

    _contexts: ClassVar[tuple[type, ...]] = ()
    _context_name: ClassVar[str] = "elicit_context"
    _awaits: ClassVar[bool] = False  # whether the framework pauses coroutine functions only

    def __init__(
        self, user: User | Callable[[Any], Any], elicit: Elicit | SyncElicit | None = None, *, app: str
    ) -> None:
        self._app = named("app", app)
        self._user = user
        self._elicit = elicit if isinstance(elicit, Elicit) else None
        self._sync = elicit if isinstance(elicit, SyncElicit) else None
        self._given = elicit is not None

    def ask(self, asks: Asks) -> Guard:
        """Ask what ``asks`` returns for the tool's arguments; if it returns None, the tool runs without a question.

        ``asks`` is a function or coroutine function with the parameters that the model fills in. In a run that is
        resumed it has to return the same again: an answer to another question does not count.
        """

        def guard(tool: Tool) -> Tool:
            if self._awaits and not inspect.iscoroutinefunction(tool):
                raise TypeError(
                    f"{tool.__qualname__}: A guarded tool of this framework has to be a coroutine function."
                )
            function = Function.of(tool, asks, self._contexts, self._context_name)
            guarded = self._blocking(function) if not inspect.iscoroutinefunction(tool) else self._awaited(function)
            setattr(guarded, GUARDED, True)
            return self._made(dressed(guarded, tool, function.signature), function)

        return guard

    def answer(self, event: Event) -> Answer | None:
        """The answer that an event of the feed or of a webhook tells of; None if no run of this app waits for it."""
        return Answer.of(event, self._app)

    async def _any_open(self, elicitations: Iterable[str]) -> bool:
        """Whether one of these questions is not over."""
        if self._sync:
            return not all([(await asyncio.to_thread(self._sync.get, one)).over for one in elicitations])
        return not all([(await self._asynchronous().get(one)).over for one in elicitations])

    @abstractmethod
    async def _place(self, context: Any) -> Place:
        """Where the call is that the framework makes with ``context``."""

    @abstractmethod
    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        """End the run, by raising what the framework takes for that. Or return the question once it is over, or what
        the model is told.
        """

    async def _ended(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        """``_pause`` if the question is open."""
        return seen if seen.over else await self._pause(elicit, context, pending, seen)

    def _made(self, guarded: Tool, function: Function) -> Tool:
        """The tool as the framework's decorator gets it."""
        return guarded

    def _whose(self, context: Any) -> Any:
        """What ``user`` is called with."""
        return context

    def _asked(self, question: Question) -> Guard:
        return self.ask(lambda *_, **__: question)

    def _awaited(self, function: Function) -> Tool:
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            context, arguments = function.given(*args, **kwargs)
            entered = await self._enter(self._asynchronous(), function, context, arguments)
            if isinstance(entered, Told):
                return entered.text
            return await function.call(**function.passed(context, arguments, entered))

        return guarded

    def _blocking(self, function: Function) -> Tool:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            context, arguments = function.given(*args, **kwargs)
            client = self._synchronous()
            entered = client._thread.run(self._enter(client._elicit, function, context, arguments))
            if isinstance(entered, Told):
                return entered.text
            return function.call(**function.passed(context, arguments, entered))

        return guarded

    def _asynchronous(self) -> Elicit:
        if self._elicit is None:
            if self._given:
                raise TypeError("elicit: Give an Elicit, not a SyncElicit, for tools that are coroutine functions.")
            self._elicit = Elicit()
        return self._elicit

    def _synchronous(self) -> SyncElicit:
        if self._sync is None:
            if self._given:
                raise TypeError("elicit: Give a SyncElicit, not an Elicit, for tools that are no coroutine functions.")
            self._sync = SyncElicit()
        return self._sync

    async def _pending(self, function: Function, context: Any, arguments: dict[str, Any]) -> PendingQuestion | None:
        question = await _value(function.asks, **arguments)
        if question is None:
            return None
        user = await _value(self._user, self._whose(context)) if callable(self._user) else self._user
        name = f"{function.call.__module__}.{function.call.__qualname__}"
        return PendingQuestion(self._app, await self._place(context), claim(user), name, arguments, question)

    async def _enter(
        self, elicit: Elicit, function: Function, context: Any, arguments: dict[str, Any]
    ) -> Completed | Told | None:
        """The outcome with which the tool runs, None if nothing is asked, or why it does not run. Raises ElicitError
        without the service's address.
        """
        pending = await self._pending(function, context, arguments)
        if pending is None:
            return None
        with no_address():
            seen = await pending.look(elicit)
            known = await self._ended(elicit, context, pending, seen)
            return known if isinstance(known, Told) else await pending.act(elicit, known)


class NamedRunsFlows(FrameworkFlows):
    """Guards for a framework whose runs have no id of their own. ``run``: returns the one that you gave a run, for what
    ``user`` is called with too.
    """

    def __init__(
        self,
        user: User | Callable[[Any], Any],
        elicit: Elicit | SyncElicit | None = None,
        *,
        app: str,
        run: Callable[[Any], Any],
    ) -> None:
        super().__init__(user, elicit, app=app)
        self._run_of = run

    async def _run(self, context: Any) -> str:
        return str(await _value(self._run_of, self._whose(context)))


async def _value(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function or coroutine function returns."""
    found = call(*args, **kwargs)
    return await found if inspect.isawaitable(found) else found
