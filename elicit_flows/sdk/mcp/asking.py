"""One run of a guarded function: what its guards and its own code ask, and whose answers it may act on.

A function that asks from inside is run again from its beginning once the user has answered, as every call is in
revision 2026-07-28. What was answered is not asked again: ``requestState`` has it, or else this process.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.sdk.errors import StillWaiting
from elicit_flows.sdk.functions import outcome_parameters
from elicit_flows.sdk.idempotency import acted_on, withdraw
from elicit_flows.sdk.mcp import messages, revision_2025_11_25, revision_2026_07_28
from elicit_flows.sdk.mcp.calls import LIBRARY_ERROR, TOOL, Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.functions import Function
from elicit_flows.sdk.mcp.identity import NoUser, user_of
from elicit_flows.sdk.mcp.messages import NotRun, Words
from elicit_flows.sdk.mcp.pending_question import Chain, PendingQuestion
from elicit_flows.sdk.outcomes import Completed, Declined, Outcome
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation

CONNECTS = ("oauth", "credentials")  # a connection lasts, so acting on it twice does no harm
NOT_GUARDED = "Only a guarded function can ask. Put a guard below @app.tool(), or @flows.guard if it needs no other."
Asks = Callable[..., Question | Awaitable[Question | None] | None]


@dataclass(frozen=True, slots=True)
class Fixed:
    """Asks the same for all arguments."""

    question: Question

    def __call__(self, /, **_: Any) -> Question:
        return self.question


class Ended(BaseException):
    """Ends the function where it asks, with the ``result`` of the call, or with an ``error`` of the library.

    It is no Exception, so that the function's own ``except Exception`` does not go on without the answer.
    """

    def __init__(self, result: Any = None, *, error: Exception | None = None) -> None:
        self.result, self.error = result, error


@dataclass(slots=True)
class Run:
    """``asker``: that of the first guard. ``place``: of the next question from inside. ``passed``: the elicitations
    that were acted on, by place. ``spent``: one of them is good for one run only. ``completed``: the guards' outcomes,
    by place.
    """

    asker: Asker
    function: Function
    call: Call
    arguments: Json
    place: int
    passed: dict[str, str] = field(default_factory=dict)
    spent: bool = False
    completed: dict[int, Completed] = field(default_factory=dict)
    _new: list[tuple[Asker, PendingQuestion, Completed]] = field(default_factory=list)
    _resumed: bool = False

    async def resume(self) -> None:
        """Wait for the question at which an earlier run of this call stopped, if there is one, and claim its answer.

        It is claimed before the function runs again, because that may no longer come to the question.
        """
        chain = None
        with suppress(LIBRARY_ERROR):  # a state of the tool's own; a guard that asks refuses it
            chain = Chain.of(self.call.state)
        chain = chain or await self._remembered()
        if chain is None:
            return
        if chain.run != self._name(self.asker):
            raise self.call.bad_state()
        self.passed, self.spent = dict(chain.passed), chain.spent
        pending = chain.pending(user_of(self.asker.settings, self.call.token), self.asker.settings.ask_again_after)
        outcome = (await self._answers(self.asker, [pending]))[pending.place]
        self._resumed = True
        await self._claim(self.asker, pending, outcome)

    async def pending(self, asker: Asker, place: int, make: Asks) -> PendingQuestion | None:
        """What ``make`` asks for these arguments, and for the outcomes so far if it has parameters for them."""
        question = make(**self.arguments, **dict(zip(outcome_parameters(make), self.outcomes(place), strict=False)))
        if inspect.isawaitable(question):
            question = await question
        if question is None:
            return None
        user = user_of(asker.settings, self.call.token)
        asked = (question.kind, question.params, question.message, question.options)
        server = self.call.server(asker.settings)
        key = self._digest(server, place, user.iss, user.sub, self.call.who, asked, self.arguments)
        return PendingQuestion(place, key, question, user, asker.settings.ask_again_after)

    def outcomes(self, before: float = math.inf) -> list[Completed]:
        """Those of the guards above ``before``, a place, in the order of the guards."""
        return [self.completed[place] for place in sorted(self.completed) if place < before]

    async def guards(self, asker: Asker, questions: Sequence[PendingQuestion], rest: Sequence[PendingQuestion]) -> None:
        """Ask at once what one or more guards ask. ``rest``: what the others will ask. Raises Ended unless all are
        completed.
        """
        known = {one.place: done for one in questions if (done := await self._known(asker, one)) is not None}
        new = [one for one in questions if one.place not in known]
        found = await self._answers(asker, new, rest) if new else {}
        outcomes = known | {one.place: one.question.outcome(found[one.place]) for one in new if one.place in found}
        for one in questions:
            outcome = outcomes.get(one.place)
            if isinstance(outcome, Completed):
                self.completed[one.place] = outcome
                if one.place not in known:
                    self._new.append((asker, one, outcome))
            elif outcome is not None:
                if not await tells(self.call, asker, one, outcome) and self.call.attempt.goes_on:
                    raise Ended(self.call.leave())
                if not self.call.attempt.goes_on:  # a task takes them back once it has its result
                    left = [await other.ask(asker.elicit()) for other in new if other.place not in found]
                    await withdraw(asker.elicit(), left)
                raise self.ends(messages.ended(asker.settings, outcome))

    async def act(self) -> None:
        """Claim the guards' answers. Raises Ended if another run has."""
        ended = [(asker, done) for asker, _, done in self._new]
        if not await acts(self.call, ended):
            raise self._used(ended[-1][1].elicitation)
        self.call.begun = True
        for asker, pending, done in self._new:
            await self._pass(asker, pending, done)
        if any(_connected(done) for _, done in ended):
            await self.call.tools_changed()

    async def inside(self, asker: Asker, make: Asks) -> Outcome:
        """Ask from inside the function. Raises Ended if the call ends before that is over, and ElicitError."""
        place, self.place = self.place, self.place + 1
        try:
            pending = await self.pending(asker, place, make)
            if pending is None:
                raise TypeError("There is nothing to ask.")
            known = await self._known(asker, pending)
            if known is not None:
                return known
            # What is asked now differs from what was answered, so nothing after it was answered either.
            self.passed = {at: one for at, one in self.passed.items() if int(at) < place}
            seen = await pending.ask(asker.elicit())
            chain = Chain(self._name(self.asker), self.passed, self.spent, place, seen.id, pending.key)
            if not seen.over:
                self.asker.earlier.keep(chain)
            pending = replace(pending, found=seen.id, chain=asdict(chain))
            outcome = (await self._answers(asker, [pending]))[place]
            await self._claim(asker, pending, outcome)
            return pending.question.outcome(outcome)
        except (NotRun, NoUser, LIBRARY_ERROR) as refused:
            raise Ended(error=refused) from refused

    def ends(self, said: Words) -> Ended:
        """The end of a call whose function was not run, or not to its end."""
        try:
            return Ended(self.call.answer(said, text=self.function.text, structured=self.function.free))
        except LIBRARY_ERROR as refusal:
            return Ended(error=refusal)

    @contextmanager
    def made(self) -> Iterator[None]:
        """What asks within the block asks in this run."""
        token = _RUN.set(self)
        try:
            yield
        finally:
            _RUN.reset(token)

    async def _answers(
        self, asker: Asker, questions: Sequence[PendingQuestion], rest: Sequence[PendingQuestion] = ()
    ) -> dict[int, Outcome]:
        """How they ended, by place: all of them, or else one is a no. Raises Ended if the call ends before that."""
        try:
            if self.call.modern:
                state = None if self._resumed else self.call.state
                answer = await revision_2026_07_28.asked(asker.elicit(), asker.settings, self.call, questions, state)
            else:
                answer = await revision_2025_11_25.asked(asker, self.call, questions, rest)
        except StillWaiting as waiting:
            answer = [waiting.elicitation]
        if isinstance(answer, dict):
            return answer
        raise self.ends(messages.waiting(answer)) if isinstance(answer, list) else Ended(answer)

    async def _known(self, asker: Asker, pending: PendingQuestion) -> Outcome | None:
        """How it ended in an earlier run of this call, which acted on it; None if it asked for something else."""
        elicit = asker.elicit()
        seen = await pending.again(elicit, self.passed.get(str(pending.place)))
        return pending.question.outcome(await pending.outcome(elicit, seen)) if seen and seen.over else None

    async def _claim(self, asker: Asker, pending: PendingQuestion, outcome: Outcome) -> None:
        """Claim the answer to a question from inside. Raises Ended if another run has."""
        # With a no, an earlier answer that is good for one run is used up too. So then the no is as well.
        tell = isinstance(outcome, Declined) and not self.spent
        if not await (tells(self.call, asker, pending, outcome) if tell else acts(self.call, [(asker, outcome)])):
            raise self._used(outcome.elicitation)
        self.asker.earlier.forget(self._name(self.asker))
        await self._pass(asker, pending, outcome)
        if _connected(outcome):
            await self.call.tools_changed()

    async def _pass(self, asker: Asker, pending: PendingQuestion, outcome: Outcome) -> None:
        self.passed[str(pending.place)] = outcome.elicitation.id
        self.spent = self.spent or outcome.elicitation.kind not in CONNECTS
        if isinstance(outcome, Completed) and asker.settings.after:
            waited = asker.settings.after(outcome)
            if inspect.isawaitable(waited):
                await waited

    def _used(self, elicitation: Elicitation) -> Ended:
        goes_on = self.call.attempt.goes_on
        return Ended(self.call.leave()) if goes_on else self.ends(messages.used(elicitation))

    async def _remembered(self) -> Chain | None:
        """What this process knows of an earlier run, for clients that send no state. None once that was acted on."""
        if not self.asker.earlier:
            return None
        try:
            chain = self.asker.earlier.get(self._name(self.asker))
        except (NotRun, NoUser):
            return None
        if chain is None:
            return None
        pending = chain.pending(user_of(self.asker.settings, self.call.token), 0)
        seen = await pending.again(self.asker.elicit(), chain.id)
        if seen is None or seen.consumed_at is not None:
            self.asker.earlier.forget(chain.run)
            return None
        return chain

    def _name(self, asker: Asker) -> str:
        """The same for all runs of one call of one user and client. Raises NotRun and NoUser."""
        user = user_of(asker.settings, self.call.token)
        return self._digest(self.call.server(asker.settings), user.iss, user.sub, self.call.who, self.arguments)

    def _digest(self, *parts: Any) -> str:
        """A yes to a prompt is none to a tool that is made of the same function."""
        method = self.call.method
        return self.function.digest(*parts) if method == TOOL else self.function.digest(*parts, method)


_RUN: ContextVar[Run | None] = ContextVar("elicit_run", default=None)


def current_run() -> Run:
    """The run in whose function this is called. Raises RuntimeError outside of one."""
    run = _RUN.get()
    if run is None:
        raise RuntimeError(NOT_GUARDED)
    return run


async def tells(call: Call, asker: Asker, pending: PendingQuestion, no: Outcome) -> bool:
    """Whether this run is the one that reports the no. A user who declined is not asked again for a while."""
    if isinstance(no, Declined) and pending.ask_again_after and await pending.keep(asker.elicit(), no):
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


def _connected(outcome: Outcome) -> bool:
    """Whether it led to a connection that was not there before."""
    return isinstance(outcome, Completed) and outcome.elicitation.kind in CONNECTS and not outcome.reused
