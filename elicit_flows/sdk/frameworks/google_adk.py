"""Google's Agent Development Kit: a guarded tool requests its confirmation, and the session keeps the run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any

from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.tools import ToolContext
from google.genai import types

from elicit_flows.domain.values import Json
from elicit_flows.sdk import words
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import ASKED, Answer, asked
from elicit_flows.sdk.frameworks.flows import FrameworkFlows
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.shapes import Elicitation

REQUEST = "adk_request_confirmation"


class GoogleADKFlows(FrameworkFlows):
    """Guards for function tools. ``user`` may be a function of the ``ToolContext``.

    The run is the session: its id is ``Answer.run``.
    """

    _contexts = (ToolContext,)
    _context_name = "tool_context"

    def waiting(self, event: Event) -> list[Json]:
        """The questions at which a run ends with this event, each ``{elicitation, url, message, asked_at}``."""
        return [told for _, told in _requests(event)]

    async def resume(self, runner: Runner, answer: Answer, *, user_id: str) -> AsyncGenerator[Event, None]:
        """Resume the run that waits for the answer, and yield what ``runner.run_async`` does.

        Nothing if it does not wait for it, or waits for the answer to another call of the same turn as well.
        ``user_id``: that of the session.
        """
        session = await runner.session_service.get_session(
            app_name=runner.app_name, user_id=user_id, session_id=answer.run
        )
        events = session.events if session else []
        given = {said.id for event in events for said in event.get_function_responses()}
        turns = ([one for one in _requests(event) if one[0].id not in given] for event in events)
        mine = (one for one in turns if any(told["elicitation"] == answer.elicitation.id for _, told in one))
        waits = next(mine, [])
        # The ADK calls the model as soon as one call is confirmed, so all calls of a turn are confirmed at once.
        if waits and not await self._any_open(told["elicitation"] for _, told in waits):
            parts = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id,
                        name=REQUEST,
                        response={"confirmed": True, "payload": {"elicitation": told["elicitation"]}},
                    )
                )
                for call, told in waits
            ]
            message = types.Content(role="user", parts=parts)
            async for event in runner.run_async(user_id=user_id, session_id=answer.run, new_message=message):
                yield event

    async def _place(self, context: ToolContext) -> Place:
        confirmed = context.tool_confirmation
        told = confirmed.payload if confirmed else None
        found = told.get("elicitation") if isinstance(told, dict) else None
        return Place(context.session.id, str(context.function_call_id), found)

    async def _pause(
        self, elicit: Elicit, context: Any, pending: PendingQuestion, seen: Elicitation
    ) -> Elicitation | Told:
        context.request_confirmation(hint=seen.message, payload=asked(seen))
        context.actions.skip_summarization = True  # the model does not answer before the person has
        return Told(f"waiting: {words.waiting(seen)}")


def _requests(event: Event) -> Iterator[tuple[types.FunctionCall, Json]]:
    """The requests for a confirmation in an event that a guard has made, and what is asked."""
    for call in event.get_function_calls():
        if call.name == REQUEST:
            told = ((call.args or {}).get("toolConfirmation") or {}).get("payload")
            if isinstance(told, dict) and told.keys() >= ASKED:
                yield call, told
