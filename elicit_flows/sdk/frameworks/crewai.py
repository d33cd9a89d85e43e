"""CrewAI: a method of a flow asks for feedback, the flow's persistence keeps it, and ``resume`` goes on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crewai.flow import Flow
from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.human_feedback import HumanFeedbackResult, human_feedback
from crewai.flow.persistence import FlowPersistence

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import RUN, Answer, asked
from elicit_flows.sdk.frameworks.flows import Asks, FrameworkFlows, Guard
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.idempotency import acted_on, no_address
from elicit_flows.sdk.outcomes import Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation, claim


class CrewAIFlows(FrameworkFlows):
    """Asks after a method of a flow, before its listeners run: put it below ``@start()`` or ``@listen(…)``.

    The tools of a crew cannot pause, so there is nothing for them. ``user`` may be a function of the flow. The run is
    the flow: its id is ``Answer.run``. ``elicit`` is a ``SyncElicit``.
    """

    def ask(self, asks: Asks) -> Guard:
        """Ask what ``asks`` returns for the method's output; if it returns None, nothing is asked."""

        def guard(method: Callable[..., Any]) -> Callable[..., Any]:
            feedback: Callable[..., Any] = human_feedback(message="", provider=Provider(self, asks))(method)
            return feedback

        return guard

    def waiting(self, result: Any) -> list[Json]:
        """The question at which a flow has paused, ``{elicitation, url, message, asked_at}``; empty if it has not.

        ``result``: what ``kickoff`` or ``resume`` returned.
        """
        return [result.callback_info] if isinstance(result, HumanFeedbackPending) and result.callback_info else []

    def outcome(self, said: HumanFeedbackResult) -> Outcome | None:
        """How the question ended, for the listener of the method. None if nothing was asked.

        Raises ValueError if the feedback comes from elsewhere.
        """
        if not said.feedback:
            return None
        seen = self._synchronous().get(said.feedback)
        kept = seen.metadata.get(RUN, {})
        if (kept.get("app"), kept.get("call")) != (self._app, said.method_name) or not seen.over:
            raise ValueError(f"{said.feedback} is no answer to {said.method_name}.")
        return outcome_of(seen)

    def resume(self, flow: type[Flow[Any]], answer: Answer, persistence: FlowPersistence | None = None) -> Any:
        """Resume the flow that waits for the answer, and return what its own ``resume`` does.

        None if it does not wait for it, or if another process resumes it.
        """
        try:
            paused = flow.from_pending(answer.run, persistence)
        except ValueError:
            return None
        waits = paused.pending_feedback
        if waits is None or waits.method_name != answer.call:
            return None
        client = self._synchronous()
        if not client._thread.run(acted_on(client._elicit, answer.elicitation)):
            return None
        return paused.resume(answer.elicitation.id)

    async def _place(self, context: PendingFeedbackContext) -> Place:
        return Place(context.flow_id, context.method_name)

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        raise HumanFeedbackPending(context=context, callback_info=asked(seen))


@dataclass(frozen=True, slots=True)
class Provider:
    """What CrewAI calls for the feedback on a method."""

    flows: CrewAIFlows
    asks: Asks

    def request_feedback(self, context: PendingFeedbackContext, flow: Flow[Any]) -> str:
        """The id of the question, empty if nothing is asked. Raises HumanFeedbackPending while it is open."""
        client = self.flows._synchronous()
        return client._thread.run(self._feedback(client._elicit, context, flow))

    async def _feedback(self, elicit: Elicit, context: PendingFeedbackContext, flow: Flow[Any]) -> str:
        question = self.asks(context.method_output)
        if inspect.isawaitable(question):
            question = await question
        if question is None:
            return ""
        user = self.flows._user(flow) if callable(self.flows._user) else self.flows._user
        name, output = f"{context.flow_class}.{context.method_name}", {"output": context.method_output}
        place = await self.flows._place(context)
        pending = PendingQuestion(self.flows._app, place, claim(user), name, output, question)
        with no_address():
            seen = await pending.look(elicit)
            if not seen.over:
                await self.flows._pause(elicit, context, pending, seen)
            return seen.id
