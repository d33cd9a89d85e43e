"""OpenAI's Agents SDK: a guarded tool needs approval while its question is open, and ``RunState`` keeps the run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agents import (
    Agent,
    RunContextWrapper,
    Runner,
    RunResult,
    RunResultStreaming,
    RunState,
    function_tool,
)
from agents.function_schema import FuncSchema, function_schema
from agents.tool_context import ToolContext

from elicit_flows.domain.values import Json
from elicit_flows.sdk import words
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import Answer, asked
from elicit_flows.sdk.frameworks.flows import Function, NamedRunsFlows, Tool
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.idempotency import no_address
from elicit_flows.sdk.shapes import Elicitation

APPROVAL = "__elicit_approval__"


@dataclass(frozen=True, slots=True)
class Call:
    """A call before it is approved."""

    context: RunContextWrapper[Any]
    tool_call_id: str


class OpenAIAgentsFlows(NamedRunsFlows):
    """Guards for function tools: put ``@flows.tool`` above them.

    ``user`` may be a function of the run's context, as ``run`` is; the context has to be a mapping to be kept.
    ``elicit`` is an ``Elicit``, and the tools are coroutine functions.
    """

    _contexts = (RunContextWrapper,)
    _awaits = True

    def tool(self, guarded: Tool | None = None, **options: Any) -> Any:
        """``function_tool`` for a guarded function, with its options but ``needs_approval``."""
        if guarded is None:
            return lambda function: self.tool(function, **options)
        approval: Approval | None = getattr(guarded, APPROVAL, None)
        if approval is None:
            raise TypeError("tool: Put a guard below it, such as @flows.confirm(…).")
        made = function_tool(needs_approval=approval, **options)(guarded)
        # The SDK wants an approval where its own invoker changed arguments, as by a default; not where a function did.
        made.on_invoke_tool = made.on_invoke_tool.__call__
        return made

    async def waiting(self, result: RunResult | RunResultStreaming) -> list[Json]:
        """The questions at which a run has ended, empty when it is over.

        Each is ``{elicitation, url, message, asked_at}``.
        """
        found = []
        for item in result.interruptions:
            for tool in item.agent.tools:
                approval = getattr(tool, "needs_approval", None)
                if isinstance(approval, Approval) and tool.name == item.tool_name and item.call_id:
                    seen = await approval.seen(result.context_wrapper, item.arguments or "{}", item.call_id)
                    found += [asked(seen)] if seen else []
        return found

    async def resume(self, agent: Agent[Any], state: str, answer: Answer, **options: Any) -> Any:
        """Resume the run that ``state`` (``RunState.to_string``) keeps, and return what ``Runner.run`` does.

        None if it does not wait for the answer. ``options`` are those of ``Runner.run``.
        """
        kept = await RunState.from_string(agent, state)
        waits = [item for item in kept.get_interruptions() if item.call_id == answer.call]
        for item in waits:
            kept.approve(item)  # the tool may be called; its guard reads what the person said
        return await Runner.run(agent, kept, **options) if waits else None

    def _made(self, guarded: Tool, function: Function) -> Tool:
        setattr(guarded, APPROVAL, Approval(self, function, function_schema(guarded)))
        return guarded

    def _whose(self, context: ToolContext[Any] | Call) -> Any:
        return context.context.context if isinstance(context, Call) else context.context

    async def _place(self, context: ToolContext[Any] | Call) -> Place:
        return Place(await self._run(context), context.tool_call_id)

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        # The call was approved by somebody else than the person.
        return Told(f"waiting: {words.waiting(seen)}")


@dataclass(frozen=True, slots=True)
class Approval:
    """``needs_approval`` of a guarded tool: whether the run has to end because the question is open."""

    flows: OpenAIAgentsFlows
    function: Function
    schema: FuncSchema

    async def __call__(self, context: RunContextWrapper[Any], params: dict[str, Any], call_id: str) -> bool:
        seen = await self.seen(context, params, call_id)
        return seen is not None and not seen.over

    async def seen(self, context: RunContextWrapper[Any], params: Any, call_id: str) -> Elicitation | None:
        """The call's question, None if it has none. ``params`` may be JSON."""
        try:
            params = json.loads(params) if isinstance(params, str) else params
            args, kwargs = self.schema.to_call_args(self.schema.params_pydantic_model(**params))
        except (TypeError, ValueError):  # The SDK tells the model what is wrong with its arguments.
            return None
        call, arguments = self.function.given(Call(context, call_id), *args, **kwargs)
        pending = await self.flows._pending(self.function, call, arguments)
        if pending is None:
            return None
        with no_address():
            return await pending.look(self.flows._asynchronous())
