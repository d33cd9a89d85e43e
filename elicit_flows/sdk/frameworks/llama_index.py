"""LlamaIndex: a guarded tool waits for a ``HumanResponseEvent``, and the ``Context`` keeps the run."""

from __future__ import annotations

from itertools import count
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, Workflow
from workflows.events import WorkflowIdleEvent
from workflows.handler import WorkflowHandler

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import ASKED, Answer, asked
from elicit_flows.sdk.frameworks.flows import NamedRunsFlows
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.shapes import Elicitation

WAITS = "elicit_waits_"  # in the store of a run, before the id of a question: the number of the wait for its answer


class QuestionEvent(InputRequiredEvent):
    """A guard waits for the person's answer."""

    elicitation: str
    url: str
    message: str
    asked_at: str | None = None


class AnswerEvent(HumanResponseEvent):
    """The person has answered. Every guard that waits looks whether it was its question."""

    elicitation: str


class LlamaIndexFlows(NamedRunsFlows):
    """Guards for tools of an agent, which are coroutine functions.

    ``user`` and ``run`` may be functions or coroutine functions of the ``Context``. Two calls of a run with the same
    arguments are one question until it is answered.
    """

    _contexts = (Context,)
    _awaits = True

    async def waiting(self, handler: WorkflowHandler) -> list[Json] | None:
        """Follow a run until it is over or waits for answers. None if it is over.

        Otherwise the questions that are new, each ``{elicitation, url, message, asked_at}``; ``keep`` the run then.
        """
        found: list[Json] = []
        async for event in handler.stream_events(expose_internal=True):
            if isinstance(event, QuestionEvent):
                found.append(event.model_dump(include=set(ASKED)))
            if isinstance(event, WorkflowIdleEvent):
                return found
        return None

    async def keep(self, handler: WorkflowHandler) -> Json:
        """End a run that waits, and return its state as JSON: ``{context, messages}``.

        The context leaves out the memory, whose messages are kept beside it.
        """
        context = handler.ctx.to_dict()
        memory: BaseMemory | None = await handler.ctx.store.get("memory", default=None)
        messages = await memory.aget_all() if memory else []
        await handler.cancel_run()
        return {"context": context, "messages": [one.model_dump(mode="json") for one in messages]}

    async def resume(
        self, workflow: Workflow, kept: Json, answer: Answer, *, memory: BaseMemory | None = None
    ) -> WorkflowHandler:
        """Resume the run that was kept, and return its handler, which ``waiting`` follows.

        ``memory``: None makes a ``ChatMemoryBuffer`` with the messages that were kept.
        """
        messages = [ChatMessage.model_validate(one) for one in kept["messages"]]
        handler = workflow.run(ctx=Context.from_dict(workflow, kept["context"]))
        await handler.ctx.store.set("memory", memory or ChatMemoryBuffer.from_defaults(chat_history=messages))
        handler.ctx.send_event(AnswerEvent(**answer.said))
        return handler

    async def _place(self, context: Context[Any]) -> Place:
        return Place(await self._run(context), "")

    async def _ended(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        # A wait that is left open would run the tool again at the answer to another call.
        waits = await context.store.get(f"{WAITS}{seen.id}", default=None)
        return seen if waits is None and seen.over else await self._pause(elicit, context, pending, seen)

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        # From the number of the wait at which the run was kept.
        for number in count(await context.store.get(f"{WAITS}{seen.id}", default=0)):
            # The tool is run again from its beginning when an event arrives, which may be the answer to another call.
            # An id of its own for each wait: one that has its event gives the same one again.
            await context.store.set(f"{WAITS}{seen.id}", number)
            told = await context.wait_for_event(
                AnswerEvent,
                waiter_event=QuestionEvent(**asked(seen)),
                waiter_id=f"{seen.id}_{number}",
                timeout=None,
            )
            seen = await pending.look(elicit, told.elicitation)
            if seen.over:
                break
        return seen
