"""The questions of one invocation: ask, show the link, wait, and stop before the time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from tesseron import ActionError

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Json
from elicit_flows.sdk.asking import OnUrl
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError, StillWaiting
from elicit_flows.sdk.idempotency import acted_on, handed_in, kept, taken_back
from elicit_flows.sdk.outcomes import Completed, Failed, Outcome, outcome_of
from elicit_flows.sdk.questions import Question, Questions
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.sdk.tesseron.invocation import Invocation, Pending
from elicit_flows.sdk.tesseron.pending_question import PendingQuestions
from elicit_flows.wires import tesseron
from elicit_flows.wires.reply import ACCEPT, Reply

BEAT_SECONDS = 5.0  # between two progress messages
USED = "Another call with this answer is running this action, or has run it. Do not call it again for this."
UNFIT = (404, 409, 422)  # an unknown question, a question without an answer, an answer that is not valid

AnswerModel = TypeVar("AnswerModel", bound=BaseModel)


class ActionQuestions(Questions[Awaitable[Outcome]]):
    """The questions of one invocation. Each is asked behind a link; a form without lists of choices in the host, if it
    can.

    Raises Pending when the time is up, ActionError when a prompt failed or an answer does not fit, and ElicitError when
    the service refuses. Cancelling the invocation cancels its question.
    """

    def __init__(self, invocation: Invocation, elicit: Elicit, questions: PendingQuestions, show: OnUrl | None) -> None:
        self._invocation = invocation
        self._elicit = elicit
        self._questions = questions
        self._show = show

    async def agreed(self, question: str) -> bool:
        """Like ``ctx.confirm``: True only for an explicit yes. If the host cannot ask, the service's page asks."""
        said = await self._invocation.confirm(question)
        return _done(await self.confirm(question)) is not None if said is None else said

    async def elicit(self, question: str, schema: Json) -> Json | None:
        """Like ``ctx.elicit``: return the answers, None for a decline or a cancel. The service checks them."""
        done = _done(await self.form(schema, message=question))
        return None if done is None else done.result["content"]

    async def elicit_as(self, model: type[AnswerModel], question: str) -> AnswerModel | None:
        """Like ``ctx.elicit_as``: ``elicit`` with the schema of ``model``, and the answers as an instance of it."""
        answers = await self.elicit(question, model.model_json_schema(mode="validation"))
        try:
            return None if answers is None else model.model_validate(answers)
        except ValidationError as error:
            raise ActionError.handler(f"The answers do not fit: {error}") from error

    async def _asked(self, question: Question) -> Outcome:
        seen = await kept(self._elicit, self._questions.ask(question))
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
            raise ActionError.handler(USED)
        return question.outcome(outcome)

    async def _answered(self, seen: Elicitation) -> Outcome:
        fields = _fields(seen)
        reply = None
        if fields:
            try:
                async with asyncio.timeout(self._invocation.left):
                    reply = await self._invocation.prompt(fields)
            except TimeoutError as error:
                raise Pending(seen) from error
        if reply is None:
            # Wait for the end of the question or the user's no to the link, whichever comes first.
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
        if reply.action != ACCEPT:
            return await taken_back(self._elicit, seen, reply.action)
        try:
            return await handed_in(self._elicit, seen, reply.content)
        except ElicitError as refused:
            if refused.status not in UNFIT:
                raise
            raise ActionError.handler(f"The answers do not fit the form: {refused.reason}") from refused

    async def _shown(self, seen: Elicitation) -> Reply | None:
        """Show the link. Returns the answer to the prompt, None if there was no prompt. Raises Pending if nothing can
        show it.

        A user who has opened the page is not asked to open it again.
        """
        if self._show:
            await self._elicit._show(self._show, seen.url)
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
    """The completed outcome, None for every kind of no. Raises ActionError for a failure, which is not a no."""
    if isinstance(outcome, Failed):
        raise ActionError.handler(f"It could not be done: {outcome.message}", {"code": outcome.code})
    return outcome if isinstance(outcome, Completed) else None


def _body(seen: Elicitation) -> Json:
    return {"kind": seen.kind, "params": seen.params, "message": seen.message, "url": seen.url}


def _fields(seen: Elicitation) -> Json | None:
    """The prompt that asks the form's questions in the host.

    None if Tesseron cannot ask them like that, or if the user has opened the page.
    """
    if seen.status != Status.PENDING:
        return None
    try:
        return tesseron.form_params(_body(seen))
    except Invalid:
        return None
