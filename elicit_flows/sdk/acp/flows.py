"""What an agent makes for each of its connections: ``await flows.in_session(session_id, call_id).oauth("acme")``."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from acp import Client
from acp.schema import ClientCapabilities

from elicit_flows.sdk.acp.asking import Asking
from elicit_flows.sdk.acp.earlier import SCOPE, unfinished
from elicit_flows.sdk.acp.peer import Peer
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.once import key_of
from elicit_flows.sdk.outcomes import Outcome, outcome_of
from elicit_flows.sdk.questions import Options, Question, Questions
from elicit_flows.sdk.shapes import Elicitation, User, claim
from elicit_flows.values import Claim, Json
from elicit_flows.wires import acp


class AcpFlows:
    """One connection and the person at its other end, whom you have verified; nobody else is asked through it.

    ``client_capabilities`` as ``initialize`` got them. ``elicit`` stays yours to close; without one, one is made, which
    ``aclose`` closes.
    """

    def __init__(
        self, conn: Client, client_capabilities: ClientCapabilities | None, user: User, elicit: Elicit | None = None
    ) -> None:
        self._peer = Peer(conn, client_capabilities)
        self._user = claim(user)
        self._elicit = elicit or Elicit()
        self._made = elicit is None
        self._shown: set[str] = set()

    def in_session(self, session_id: str, tool_call_id: str | None = None) -> Scoped:
        """Questions within a session, and one tool call of it.

        A tool call that asks the same thing again, after a crash too, gets what is open or was not acted on yet;
        without a tool call each question is a new one.
        """
        return Scoped(self, acp.in_session(session_id, tool_call_id), lasting=tool_call_id is not None)

    def in_request(self, request_id: str | int) -> Scoped:
        """Questions before there is a session, while that request of the client's (``authenticate``) is answered."""
        return Scoped(self, acp.in_request(request_id), lasting=False)

    async def resume(self, session_id: str) -> list[Resumed]:
        """What this user was asked in that session and nobody acted on, oldest first: after a restart, or on a new
        connection that goes on with an old session.
        """
        earlier = await unfinished(self._elicit, self._user, session_id)
        return [Resumed(self, one) for one in earlier if one.id not in self._shown]

    async def _ask(self, question: Question, scope: Json, *, lasting: bool) -> Outcome:
        """Raises CannotAsk, UnknownAnswer, ElicitError."""
        options = _options(question, scope, self._user if lasting else None)
        asked = await self._elicit.create(
            question.kind, self._user, question.params, message=question.message, **options
        )
        return await self._see_through(asked, scope)

    async def _see_through(self, asked: Elicitation, scope: Json) -> Outcome:
        """The outcome, handed out once: whoever comes second gets ElicitError 409 ``already_consumed``."""
        outcome = outcome_of(asked) if asked.over else await self._open(asked, scope)
        await self._elicit.consume(asked)
        return outcome

    async def _open(self, asked: Elicitation, scope: Json) -> Outcome:
        if asked.id in self._shown:  # an id is outstanding once on a connection
            return outcome_of(await self._elicit.wait(asked))
        self._shown.add(asked.id)
        try:
            return await Asking(self._elicit, self._peer, asked, scope).outcome()
        finally:
            self._shown.discard(asked.id)

    async def aclose(self) -> None:
        if self._made:
            await self._elicit.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


@dataclass(frozen=True, slots=True)
class Scoped(Questions[Awaitable[Outcome]]):
    """``await`` what its methods return: each asks in this scope and waits."""

    flows: AcpFlows
    scope: Json
    lasting: bool

    async def _asked(self, question: Question) -> Outcome:
        return await self.flows._ask(question, self.scope, lasting=self.lasting)


@dataclass(frozen=True, slots=True)
class Resumed:
    """A question from before: ``elicitation.kind``, ``.message`` and ``.metadata`` say what it was about."""

    flows: AcpFlows
    elicitation: Elicitation

    @property
    def tool_call_id(self) -> str | None:
        scope: Json = self.elicitation.metadata[SCOPE]
        return scope.get("toolCallId")

    async def outcome(self) -> Outcome:
        """Shows it to the client of this connection, unless it ended meanwhile, and waits. Raises as asking does."""
        return await self.flows._see_through(self.elicitation, self.elicitation.metadata[SCOPE])


def _options(question: Question, scope: Json, user: Claim | None) -> Options:
    """With the scope in the metadata; for ``user`` a key by which the same question is found again."""
    options: Options = {**question.options, "metadata": {**question.options.get("metadata", {}), SCOPE: scope}}
    if user is None or "idempotency_key" in options:
        return options
    key = key_of(SCOPE, user.iss, user.sub, question.kind, question.params, question.message, options)
    return {**options, "idempotency_key": key}
