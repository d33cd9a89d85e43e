"""Pydantic AI: a guarded tool raises ``ApprovalRequired``, and ``DeferredToolResults`` resume the run."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ToolCallPart, ToolReturnPart

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import ASKED, Answer, asked
from elicit_flows.sdk.frameworks.flows import FrameworkFlows, Function, Tool
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.shapes import Elicitation

NO_ID = "The run has no conversation_id, which says what is resumed: agent.run(…, conversation_id=…)."


class PydanticAIFlows(FrameworkFlows):
    """Guards for tools. ``user`` may be a function of the ``RunContext``.

    The run is the conversation: its id is ``Answer.run``. The agent needs ``DeferredToolRequests`` among its outputs.
    """

    _contexts = (RunContext,)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._names: set[str] = set()

    def waiting(self, output: Any) -> list[Json]:
        """The questions at which a run has ended, empty when it is over.

        Each is ``{elicitation, url, message, asked_at}``. ``output``: that of the result.
        """
        if not isinstance(output, DeferredToolRequests):
            return []
        told = (output.metadata.get(one.tool_call_id, {}) for one in output.approvals)
        return [one for one in told if one.keys() >= ASKED]

    async def resume(
        self,
        agent: Agent[Any, Any],
        messages: bytes | list[ModelMessage],
        answer: Answer,
        *,
        others: DeferredToolResults | None = None,
        **options: Any,
    ) -> Any:
        """Resume the run with these ``messages`` (``result.all_messages_json()``), and return what ``agent.run`` does.

        None if it does not wait for the answer. ``others``: results for calls that are deferred and not guarded here.
        ``options`` are those of ``agent.run``, such as ``deps``.
        """
        history = ModelMessagesTypeAdapter.validate_json(messages) if isinstance(messages, bytes) else messages
        done = {part.tool_call_id for one in history for part in one.parts if isinstance(part, ToolReturnPart)}
        calls = [part for one in history for part in one.parts if isinstance(part, ToolCallPart)]
        # Guards of other calls in the same response end the run again if theirs are still open.
        mine = [one.tool_call_id for one in calls if one.tool_name in self._names and one.tool_call_id not in done]
        if answer.call not in mine:
            return None
        results = others or DeferredToolResults()
        results.approvals.update(dict.fromkeys(mine, True))
        results.metadata[answer.call] = answer.said
        return await agent.run(
            message_history=history, deferred_tool_results=results, conversation_id=answer.run, **options
        )

    def _made(self, guarded: Tool, function: Function) -> Tool:
        self._names.add(guarded.__name__)
        return guarded

    async def _place(self, context: RunContext[Any]) -> Place:
        if context.conversation_id is None or context.tool_call_id is None:
            raise ValueError(NO_ID)
        told = context.tool_call_metadata
        found = told.get("elicitation") if context.tool_call_approved and isinstance(told, dict) else None
        return Place(context.conversation_id, context.tool_call_id, found)

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        raise ApprovalRequired(metadata=asked(seen))
