"""smolagents: a guarded tool ends the run with ``Waiting``, and its messages, kept by you, go on in another run."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from smolagents import ChatMessage, MemoryStep, MultiStepAgent

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import Answer, asked
from elicit_flows.sdk.frameworks.flows import FrameworkFlows
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.shapes import Elicitation, User

GO_ON = "The person has answered. Call each tool again with the same arguments to go on."
NO_RUN = "Run the agent with flows.run(…), which says whose run it is."


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that waits.

    ``waits``: the questions, each ``{elicitation, url, message, asked_at}``. ``messages``: its memory, as JSON.
    """

    waits: list[Json]
    messages: list[Json]


@dataclass(frozen=True, slots=True)
class Current:
    """The run that this thread is part of. ``waits``: the questions at which it has ended."""

    run: str
    user: User
    waits: list[Json] = field(default_factory=list)


_CURRENT: ContextVar[Current | None] = ContextVar("elicit_smolagents_run", default=None)


class Waiting(BaseException):
    """Ends a run at a question. It is no Exception, so that the agent does not take it for an error of the tool."""


class SmolagentsFlows(FrameworkFlows):
    """Guards for tools, which are no coroutine functions.

    The framework cannot continue a tool call. The run that goes on knows the messages so far and calls the tool again:
    two calls of a run with the same arguments are one question until its answer is used.
    """

    def __init__(self, elicit: Any = None, *, app: str) -> None:
        super().__init__(lambda _: _current().user, elicit, app=app)

    def run(self, agent: MultiStepAgent, task: str, *, run: str, user: User, **options: Any) -> Any:
        """Return what ``agent.run`` does, or a ``Kept`` if the run waits for an answer. ``run``: an id of yours."""
        current = Current(run, user)
        token = _CURRENT.set(current)
        try:
            return agent.run(task, **options)
        except Waiting:  # The agent has let the other calls of the turn end, so their questions are known too.
            said = [message for step in agent.memory.steps for message in step.to_messages()]
            return Kept(current.waits, [{"role": str(one.role.value), "content": one.content} for one in said])
        finally:
            _CURRENT.reset(token)

    def resume(self, agent: MultiStepAgent, kept: Json, answer: Answer, *, task: str = GO_ON) -> Any:
        """Go on with a run: return what ``run`` does. ``kept``: the ``Kept`` as JSON. ``task``: what the model is told.

        None if the run does not wait for the answer, or waits for another one as well.
        """
        waits = [one["elicitation"] for one in kept["waits"]]
        if answer.elicitation.id not in waits or not all(self._synchronous().get(one).over for one in waits):
            return None
        agent.memory.steps = [Earlier(kept["messages"])]
        return self.run(agent, task, run=answer.run, user=answer.user, reset=False)

    async def _place(self, context: Any) -> Place:
        return Place(_current().run, "")

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        _current().waits.append(asked(seen))
        raise Waiting


@dataclass
class Earlier(MemoryStep):
    """What was said before the run waited."""

    said: list[Json]

    def to_messages(self, summary_mode: bool = False) -> list[ChatMessage]:
        return [ChatMessage.from_dict(dict(one)) for one in self.said]


def _current() -> Current:
    found = _CURRENT.get()
    if found is None:
        raise RuntimeError(NO_RUN)
    return found
