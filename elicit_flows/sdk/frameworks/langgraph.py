"""LangGraph: the run ends at an ``interrupt``, the checkpointer keeps it, and ``Command(resume=…)`` resumes it."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot, interrupt

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import ASKED, Answer, asked
from elicit_flows.sdk.frameworks.flows import FrameworkFlows
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.shapes import Elicitation

NO_THREAD = "The run has no thread_id: {'configurable': {'thread_id': …}}. A graph that pauses needs a checkpointer."


class LangGraphFlows(FrameworkFlows):
    """Guards for tools, and for other functions that a node calls. ``user`` may be a function of the run's config.

    The interrupt's value is ``{elicitation, url, message, asked_at}``. The run is the thread: its id is ``Answer.run``.
    """

    def waiting(self, said: Any) -> list[Json]:
        """The questions at which a run has ended, empty when it is over.

        Each is ``{elicitation, url, message, asked_at}``. ``said``: what ``graph.invoke`` or ``ainvoke`` returned.
        """
        values = [one.value for one in said.get("__interrupt__", ())]
        return [one for one in values if isinstance(one, dict) and one.keys() >= ASKED]

    async def resume(self, graph: Pregel[Any, Any, Any, Any], answer: Answer, **options: Any) -> Any:
        """Resume the run that waits for the answer, and return what ``graph.ainvoke`` does.

        None if it does not wait for it, because it was resumed before. ``options`` are those of ``ainvoke``.
        """
        config = _of_thread(answer, options)
        command = _resuming(await graph.aget_state(config), answer)
        return None if command is None else await graph.ainvoke(command, config, **options)

    def resume_sync(self, graph: Pregel[Any, Any, Any, Any], answer: Answer, **options: Any) -> Any:
        """``resume`` with ``graph.invoke``."""
        config = _of_thread(answer, options)
        command = _resuming(graph.get_state(config), answer)
        return None if command is None else graph.invoke(command, config, **options)

    async def _place(self, context: Any) -> Place:
        configurable = get_config()["configurable"]
        if "thread_id" not in configurable:
            raise ValueError(NO_THREAD)
        # The namespace names the node's task, which keeps its id when the run is resumed.
        return Place(str(configurable["thread_id"]), str(configurable["checkpoint_ns"]))

    def _whose(self, context: Any) -> RunnableConfig:
        return get_config()

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        while not seen.over:
            told = interrupt(asked(seen))
            seen = await pending.look(elicit, told.get("elicitation") if isinstance(told, dict) else None)
        return seen


def _of_thread(answer: Answer, options: dict[str, Any]) -> RunnableConfig:
    config = dict(options.pop("config", None) or {})
    config["configurable"] = {**config.get("configurable", {}), "thread_id": answer.run}
    return RunnableConfig(**config)


def _resuming(state: StateSnapshot, answer: Answer) -> Command[Any] | None:
    """The command for those interrupts that wait for the answer: a thread may have several."""
    waits = [
        one.id
        for one in state.interrupts
        if isinstance(one.value, dict) and one.value.get("elicitation") == answer.elicitation.id
    ]
    return Command(resume=dict.fromkeys(waits, answer.said)) if waits else None
