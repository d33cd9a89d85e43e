"""The questions of one invocation: asked, shown, waited for, and given up in time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from tesseron import ActionError

from elicit_flows.errors import Invalid
from elicit_flows.sdk.asking import OnUrl
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError, StillWaiting
from elicit_flows.sdk.once import acted_on, taken_back
from elicit_flows.sdk.outcomes import Completed, Failed, Outcome, outcome_of
from elicit_flows.sdk.questions import Question, Questions
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.sdk.tesseron.invocation import Invocation, Pending
from elicit_flows.sdk.tesseron.ticket import Tickets
from elicit_flows.states import Status
from elicit_flows.values import Json
from elicit_flows.wires import forms, tesseron
from elicit_flows.wires.reply import ACCEPT, Reply

BEAT_SECONDS = 5.0  # between two progress messages
UNFIT = (404, 409, 422)  # no such question, one without its answer, an answer that is none

AnswerModel = TypeVar("AnswerModel", bound=BaseModel)


class ActionQuestions(Questions[Awaitable[Outcome]]):
    """Each kind is asked behind a link; a form without lists of choices in the host, where that can ask.

    Raises Pending when the time is up; ActionError where a prompt failed or an answer does not fit; ElicitError where
    the service refuses. A cancelled invocation takes its question back.
    """

    def __init__(self, invocation: Invocation, elicit: Elicit, tickets: Tickets, show: OnUrl | None) -> None:
        self._invocation = invocation
        self._elicit = elicit
        self._tickets = tickets
        self._show = show

    async def agreed(self, question: str) -> bool:
        """As ``ctx.confirm``: True for an explicit yes alone. Where the host cannot ask, our page does."""
        said = await self._invocation.confirm(question)
        return _done(await self.confirm(question)) is not None if said is None else said

    async def elicit(self, question: str, schema: Json) -> Json | None:
        """As ``ctx.elicit``: the answers, None for a decline or a cancel. The service checks them."""
        done = _done(await self.form(schema, message=question))
        return None if done is None else done.result["content"]

    async def elicit_as(self, model: type[AnswerModel], question: str) -> AnswerModel | None:
        """As ``ctx.elicit_as``: ``elicit`` with the schema of ``model``, and the answers as one."""
        answers = await self.elicit(question, model.model_json_schema(mode="validation"))
        try:
            return None if answers is None else model.model_validate(answers)
        except ValidationError as error:
            raise ActionError.handler(f"The answers do not fit: {error}") from error

    def _asked(self, question: Question) -> Awaitable[Outcome]:
        return self._outcome(question)

    async def _outcome(self, question: Question) -> Outcome:
        seen = await self._tickets.ask(question)
        try:
            outcome = outcome_of(seen) if seen.over else await self._answered(seen)
        except Pending:
            raise
        except StillWaiting as waiting:
            raise Pending(waiting.elicitation) from waiting
        except (asyncio.CancelledError, ActionError):
            with suppress(ElicitError):
                await self._elicit.cancel(seen)
            raise
        if not await acted_on(self._elicit, outcome.elicitation):
            raise ActionError.handler("This answer was acted on already. Call again to ask anew.")
        return outcome

    async def _answered(self, seen: Elicitation) -> Outcome:
        fields = _fields(seen)
        reply = await self._filled_in(seen, fields) if fields else None
        if reply is None:
            return await self._behind_link(seen)
        if reply.action != ACCEPT:
            return await taken_back(self._elicit, seen, reply.action)
        return outcome_of(await self._submitted(seen, reply.content or {}))

    async def _filled_in(self, seen: Elicitation, fields: Json) -> Reply | None:
        try:
            async with asyncio.timeout(self._invocation.left):
                return await self._invocation.prompt(fields)
        except TimeoutError as error:
            raise Pending(seen) from error

    async def _submitted(self, seen: Elicitation, content: Json) -> Elicitation:
        answers: dict[str, Any] = forms.submitted(content)
        try:
            for question, answer in answers.items():
                await self._elicit.answer(seen, question, answer)
            return await self._elicit.complete(seen)
        except ElicitError as refused:
            if refused.status not in UNFIT:
                raise
            raise ActionError.handler(f"The answers do not fit the form: {refused.detail}") from refused

    async def _behind_link(self, seen: Elicitation) -> Outcome:
        """Whichever comes first: the end of it, or the user's no to the link."""
        over = asyncio.create_task(self._over(seen))
        shown = asyncio.create_task(self._shown(seen))
        try:
            await asyncio.wait({over, shown}, return_when=asyncio.FIRST_COMPLETED)
            if not over.done() and (reply := shown.result()) and reply.action != ACCEPT:
                return await taken_back(self._elicit, seen, reply.action)
            return outcome_of(await over)
        finally:
            over.cancel()
            shown.cancel()
            await asyncio.gather(over, shown, return_exceptions=True)

    async def _shown(self, seen: Elicitation) -> Reply | None:
        """The answer to the prompt that gives the link, None where there was none. Raises Pending if nothing shows it.

        Who has opened it is not asked to open it once more.
        """
        if self._show:
            waited = self._show(seen.url)
            if inspect.isawaitable(waited):
                await waited
            return None
        if seen.status == Status.PENDING:
            reply = await self._invocation.prompt(tesseron.params(_body(seen)))
            if reply or self._invocation.host.streaming:
                return reply
            raise Pending(seen)
        return None

    async def _over(self, seen: Elicitation) -> Elicitation:
        while not seen.over:
            if self._invocation.left <= 0:
                raise Pending(seen)
            await self._invocation.tell(seen)
            seen = await self._elicit.wait(seen, timeout=min(self._invocation.left, BEAT_SECONDS))
        return seen


def _done(outcome: Outcome) -> Completed | None:
    """None for every kind of no. Raises ActionError for a failure, which is none."""
    if isinstance(outcome, Failed):
        raise ActionError.handler(f"It could not be done: {outcome.message}", {"code": outcome.code})
    return outcome if isinstance(outcome, Completed) else None


def _body(seen: Elicitation) -> Json:
    return {"kind": seen.kind, "params": seen.params, "message": seen.message, "url": seen.url}


def _fields(seen: Elicitation) -> Json | None:
    """The prompt that asks the questions themselves. None for what Tesseron cannot ask so, or somebody is answering."""
    if seen.status != Status.PENDING:
        return None
    try:
        return tesseron.form_params(_body(seen))
    except Invalid:
        return None
