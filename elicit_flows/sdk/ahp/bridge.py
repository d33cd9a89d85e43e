"""One chat of an AHP host: its agent asks here, its clients' answers come in here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import cast

from elicit_flows.errors import Invalid
from elicit_flows.sdk.ahp.flow import Dispatch, Flow
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.once import unfinished
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.questions import Options, Question, Questions
from elicit_flows.sdk.shapes import Elicitation, User, claim
from elicit_flows.values import Json
from elicit_flows.wires import ahp_tool_calls

CHAT = "ahp_chat"  # in an elicitation's metadata: whose it is, for a host that starts again
ANSWER_CHANGED, COMPLETED = "chat/inputAnswerChanged", "chat/inputCompleted"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A running call of a tool that an MCP server contributed; ``resource`` is that server's identifier, a URI."""

    turn: str
    id: str
    resource: str


class AhpInputBridge(Questions[Awaitable[Outcome]]):
    """``await bridge.oauth("acme")`` asks ``user`` in the chat, and returns how it ended.

    ``chat`` is the chat's URI. ``dispatch`` takes the host's own actions, one by one and in order: those that begin
    with ``chat/`` are for the chat's channel, those with ``session/`` for its session's. It must not wait for the
    bridge. Where nothing has to be asked, nothing is dispatched.

    Asking raises ElicitError when the service refuses the question or cannot be reached. To cancel the task that waits
    hangs up and leaves the question open: ``turn_ended`` takes it back.
    """

    def __init__(self, elicit: Elicit, user: User, chat: str, dispatch: Dispatch) -> None:
        self._elicit = elicit
        self._user = claim(user)
        self._chat = chat
        self._dispatch = dispatch
        self._flows: dict[str, Flow] = {}
        self._past: dict[str, Flow] = {}  # of the turn before, for those who come late

    def _asked(self, question: Question) -> Awaitable[Outcome]:
        return self.open(question)

    def during(self, call: ToolCall) -> Questions[Awaitable[Outcome]]:
        """The same questions, while ``call`` is ``auth-required``. It runs on once the question is completed; after
        any other end it is the host's to fail it.
        """
        return _During(self, call)

    async def open(self, question: Question, call: ToolCall | None = None) -> Outcome:
        """Ask one question, and see it through."""
        metadata = {**question.options.get("metadata", {}), CHAT: self._chat}
        options = cast(Options, {**question.options, "metadata": metadata})
        asked = await self._elicit.create(
            question.kind, self._user, question.params, message=question.message, **options
        )
        return await self.follow(asked, call)

    async def follow(self, asked: Elicitation, call: ToolCall | None = None) -> Outcome:
        """See through what was asked before, one of ``unfinished``: for a host that starts again. It is requested while
        it is open.

        The outcome is handed out once: whoever comes second gets ElicitError 409 ``already_consumed``.
        """
        flow = Flow(self._elicit, asked, self._chat, self._dispatch)
        self._flows[asked.id] = flow
        call = None if asked.over else call
        if call:
            wanted = {"scopes": asked.params.get("scopes", ()), "message": asked.message}
            self._dispatch(ahp_tool_calls.auth_required(call.turn, call.id, call.resource, **wanted))
        outcome = await flow.follow()
        if not flow.abandoned:
            await self._elicit.consume(flow.asked)
        if call and isinstance(outcome, Completed):
            self._dispatch(ahp_tool_calls.auth_resolved(call.turn, call.id))
        return outcome

    async def unfinished(self) -> list[Elicitation]:
        """What was asked in this chat, by this process or one before it, and nobody has acted on, be it open or over by
        now; the oldest first.
        """
        return await unfinished(self._elicit, self._user, lambda one: one.metadata.get(CHAT) == self._chat)

    async def apply(self, action: Json, client_id: str) -> str | None:
        """What a client dispatched to the chat: None when it holds, else the ``rejectionReason``.

        Echo it at once: ``None`` means that the service has it. For ``chat/inputAnswerChanged`` and
        ``chat/inputCompleted``; other input actions are not for clients.
        """
        if not _can_be_sent(action):
            return "It has a number or a character that cannot be kept."
        key = str(action.get("requestId"))
        flow = self._flows.get(key) or self._past.get(key)
        if action.get("type") not in (ANSWER_CHANGED, COMPLETED):
            return "Only the host may do that."
        if flow is None:
            return "There is no request of this id in this chat."
        try:
            if action["type"] == ANSWER_CHANGED:
                await flow.change(action)
            else:
                await flow.complete(action, client_id)
        except Invalid as error:
            return error.detail
        except ElicitError as error:
            return _reason(error)
        return None

    async def turn_ended(self) -> None:
        """For every turn, however it ended: take back what is still open. The host's action that ends the turn may come
        before or after.

        What was asked stays in the transcript without a response. Raises ElicitError when the service could not be
        told of one; its link then ends with its time.
        """
        ended = await asyncio.gather(*(flow.abandon() for flow in self._flows.values()), return_exceptions=True)
        for error in ended:
            if error is not None:
                raise error
        self._past, self._flows = self._flows, {}


class _During(Questions[Awaitable[Outcome]]):
    def __init__(self, bridge: AhpInputBridge, call: ToolCall) -> None:
        self._bridge = bridge
        self._call = call

    def _asked(self, question: Question) -> Awaitable[Outcome]:
        return self._bridge.open(question, self._call)


def _reason(error: ElicitError) -> str:
    """A refusal in the service's words; what went wrong inside is nothing for a client."""
    if error.status is None or error.status >= 500:
        return "It could not be kept just now. Try again."
    return error.detail


def _can_be_sent(action: Json) -> bool:
    """Python reads JSON that it cannot write: infinite numbers, and halves of characters."""
    try:
        json.dumps(action, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True
