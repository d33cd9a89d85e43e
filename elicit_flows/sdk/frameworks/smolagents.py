"""smolagents: a guarded tool ends the run with ``Waiting``, and its messages, kept by you, go on in another run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from smolagents import ChatMessage, MemoryStep, MultiStepAgent

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import Answer, asked
from elicit_flows.sdk.frameworks.flows import FrameworkFlows
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.shapes import Elicitation, User

GO_ON = "The person has answered. Call the tool again with the same arguments to go on."
NO_RUN = "Run the agent with flows.run(…), which says whose run it is."
_RUN: ContextVar[tuple[str, User] | None] = ContextVar("elicit_smolagents_run", default=None)


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that waits.

    ``waits``: the question, ``{elicitation, url, message, asked_at}``. ``messages``: its memory, as JSON.
    """

    waits: Json
    messages: list[Json]


class Waiting(BaseException):
    """Ends a run at a question. It is no Exception, so that the agent does not take it for an error of the tool."""

    def __init__(self, waits: Json) -> None:
        super().__init__(waits["message"])
        self.waits = waits


class SmolagentsFlows(FrameworkFlows):
    """Guards for tools, which are no coroutine functions.

    The framework cannot continue a tool call. The run that goes on knows the messages so far and calls the tool again:
    two calls of a run with the same arguments are one question until its answer is used.
    """

    def __init__(self, elicit: Any = None, *, app: str) -> None:
        super().__init__(lambda _: _current()[1], elicit, app=app)

    def run(self, agent: MultiStepAgent, task: str, *, run: str, user: User, **options: Any) -> Any:
        """Return what ``agent.run`` does, or a ``Kept`` if the run waits for an answer. ``run``: an id of yours."""
        with _run(run, user):
            try:
                return agent.run(task, **options)
            except Waiting as ended:
                said = [message for step in agent.memory.steps for message in step.to_messages()]
                return Kept(ended.waits, [{"role": str(one.role.value), "content": one.content} for one in said])

    def resume(self, agent: MultiStepAgent, messages: list[Json], answer: Answer, *, task: str = GO_ON) -> Any:
        """Go on with a run whose ``messages`` were kept: return what ``run`` does. ``task``: what the model is told."""
        agent.memory.steps = [Earlier(messages)]
        return self.run(agent, task, run=answer.run, user=answer.user, reset=False)

    async def _place(self, context: Any) -> Place:
        return Place(_current()[0], "")

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        raise Waiting(asked(seen))


@dataclass
class Earlier(MemoryStep):
    """What was said before the run waited."""

    said: list[Json]

    def to_messages(self, summary_mode: bool = False) -> list[ChatMessage]:
        return [ChatMessage.from_dict(dict(one)) for one in self.said]


@contextmanager
def _run(run: str, user: User) -> Iterator[None]:
    token = _RUN.set((run, user))
    try:
        yield
    finally:
        _RUN.reset(token)


def _current() -> tuple[str, User]:
    found = _RUN.get()
    if found is None:
        raise RuntimeError(NO_RUN)
    return found
