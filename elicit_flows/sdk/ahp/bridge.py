"""``AhpInputBridge``: one chat of an AHP host, between the agent that asks and the chat's clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import cast

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.sdk.ahp.flow import Dispatch, Flow
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.idempotency import ADDRESSED, kept, named, unfinished
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.questions import Options, Question, Questions
from elicit_flows.sdk.shapes import Elicitation, User, claim
from elicit_flows.wires import ahp

CHAT, HOST = "ahp_chat", "ahp_host"  # in an elicitation's metadata, so that a restarted host finds its questions
ANSWER_CHANGED, COMPLETED = "chat/inputAnswerChanged", "chat/inputCompleted"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A running call of a tool of an MCP server. ``resource`` is that server's identifier, a URI."""

    turn: str
    id: str
    resource: str


class AhpInputBridge(Questions[Awaitable[Outcome]]):
    """Asks ``user`` in a chat of an AHP host: ``await bridge.oauth("acme")`` returns the outcome.

    ``chat`` is the chat's URI. ``host`` is a name that no other host with the same API key has. The host keeps it over
    restarts, and finds its ``unfinished`` questions by it.

    ``dispatch`` receives the host's own actions one by one, in order. Send those that begin with ``chat/`` to the
    chat's channel and those that begin with ``session/`` to the session's. It must not wait for the bridge. If nothing
    has to be asked, nothing is dispatched.

    ``locale`` is the language of the chat's client (BCP 47). A question's own comes first.

    Asking raises ElicitError when the service refuses the question or cannot be reached. Cancelling the task that waits
    leaves the question open; ``turn_ended`` cancels it.
    """

    def __init__(
        self, elicit: Elicit, user: User, chat: str, dispatch: Dispatch, *, host: str, locale: str | None = None
    ) -> None:
        self._language: Options = {} if locale is None else {"locale": locale}
        self._host = named("host", host)
        self._elicit = elicit
        self._user = claim(user)
        self._chat = chat
        self._dispatch = dispatch
        self._flows: dict[str, Flow] = {}
        self._turn = 0  # how many have ended
        self._past: dict[str, Flow] = {}  # the previous turn's, to tell late clients how a question ended

    def _asked(self, question: Question) -> Awaitable[Outcome]:
        return self.open(question)

    def during(self, call: ToolCall) -> Questions[Awaitable[Outcome]]:
        """Return the same questions, asked while ``call`` is ``auth-required``.

        The call continues once the question is completed. After any other outcome the host has to fail it.
        """
        return _During(self, call)

    @property
    def status(self) -> int:
        """The SessionStatus of the chat within a turn, for its summary and ``ahp.chat_updated``: InputNeeded while a
        request is open, otherwise InProgress.
        """
        needs = any(flow.needs_input for flow in self._flows.values())
        return ahp.INPUT_NEEDED if needs else ahp.IN_PROGRESS

    async def open(self, question: Question, call: ToolCall | None = None) -> Outcome:
        """Ask one question and return its outcome. A form's draft is shared with the chat, and its page says so."""
        params = {"shared": True, **question.params} if question.kind == "form" else question.params
        metadata = {**question.options.get("metadata", {}), CHAT: self._chat, HOST: self._host}
        options = cast(Options, {**self._language, **question.options, "metadata": metadata})
        turn = self._turn
        create = self._elicit.create(question.kind, self._user, params, message=question.message, **options)
        asked = await kept(self._elicit, create)
        return question.outcome(await self._follow(asked, call, late=turn != self._turn))

    async def follow(self, asked: Elicitation, call: ToolCall | None = None) -> Outcome:
        """Continue an earlier question, one of ``unfinished``, after a restart. It is requested again while it is open.

        The outcome is returned once: a second caller gets ConflictError ``already_consumed``.
        """
        return await self._follow(asked, call)

    async def _follow(self, asked: Elicitation, call: ToolCall | None, *, late: bool = False) -> Outcome:
        """``late``: the turn that asked has ended meanwhile, so the question is cancelled."""
        flow = Flow(self._elicit, asked, self._chat, self._dispatch)
        self._flows[asked.id] = flow
        if late:
            await flow.abandon()
        call = None if asked.over or flow.abandoned else call
        if call:
            wanted = {"scopes": asked.params.get("scopes", ()), "message": asked.message}
            self._dispatch(ahp.auth_required(call.turn, call.id, call.resource, **wanted))
        outcome = await flow.follow()
        if not flow.abandoned:
            await self._elicit.consume(flow.asked)
        if call and isinstance(outcome, Completed):
            self._dispatch(ahp.auth_resolved(call.turn, call.id))
        return outcome

    async def unfinished(self) -> list[Elicitation]:
        """Return the questions of this chat that nobody has acted on, open or over, oldest first.

        That includes questions that an earlier process of this host asked.
        """
        mine = (self._chat, self._host)
        return await unfinished(
            self._elicit, self._user, lambda one: (one.metadata.get(CHAT), one.metadata.get(HOST)) == mine
        )

    async def apply(self, action: Json, client_id: str) -> str | None:
        """Apply an action that a client dispatched to the chat. Returns None if it is valid, or else the
        ``rejectionReason``.

        Echo the action at once when it returns None: the service has it. Takes ``chat/inputAnswerChanged`` and
        ``chat/inputCompleted``; clients may not send other input actions.
        """
        # Python reads JSON that it cannot write: infinite numbers, lone surrogates.
        try:
            json.dumps(action, allow_nan=False, ensure_ascii=False).encode()
        except ValueError:
            return "The action contains a number or a character that cannot be stored."
        key = str(action.get("requestId"))
        flow = self._flows.get(key) or self._past.get(key)
        if action.get("type") not in (ANSWER_CHANGED, COMPLETED):
            return "Only the host may dispatch this action."
        if flow is None:
            return "There is no request with this id in this chat."
        try:
            if action["type"] == ANSWER_CHANGED:
                await flow.change(action)
            else:
                await flow.complete(action, client_id)
        except Invalid as error:
            return error.detail
        except ElicitError as error:
            # Internal errors are not shown to clients.
            internal = error.status is None or error.status >= 500 or error.code in ADDRESSED
            return "The answer could not be stored. Try again." if internal else error.reason
        return None

    async def turn_ended(self) -> None:
        """Cancel the questions that are still open. Call it for every turn, before or after the host ends it.

        The requests stay in the transcript without a response. Raises ElicitError if the service could not be told
        about one; its link then stays valid until it expires.
        """
        self._turn += 1
        ending = dict(self._flows)  # the next turn may ask while the service is told
        ended = await asyncio.gather(*(flow.abandon() for flow in ending.values()), return_exceptions=True)
        for error in ended:
            if error is not None:
                raise error
        self._flows = {key: flow for key, flow in self._flows.items() if key not in ending}
        self._past = ending


class _During(Questions[Awaitable[Outcome]]):
    def __init__(self, bridge: AhpInputBridge, call: ToolCall) -> None:
        self._bridge = bridge
        self._call = call

    def _asked(self, question: Question) -> Awaitable[Outcome]:
        return self._bridge.open(question, self._call)
