"""``AcpFlows``, made once for each connection: ``await flows.in_session(session_id, call_id).oauth("acme")``."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from acp import Client
from acp.schema import ClientCapabilities

from elicit_flows.domain.values import Json
from elicit_flows.sdk.acp.asking import Asking
from elicit_flows.sdk.acp.peer import Peer
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.idempotency import kept, key_of, named, no_address, unfinished
from elicit_flows.sdk.outcomes import Outcome, outcome_of
from elicit_flows.sdk.questions import Options, Question, Questions
from elicit_flows.sdk.shapes import Elicitation, User, claim
from elicit_flows.wires import acp

SCOPE = "acp"  # the member of an elicitation's metadata that holds the scope
AGENT = "acp_agent"  # the member that holds the agent's name


class AcpFlows:
    """Asks the user at the other end of one ACP connection. You must have verified who that is; nobody else is asked.

    ``client_capabilities``: what ``initialize`` received. ``agent``: a name that no other agent with the same API key
    has. All processes of this agent use the same name, so that one can continue what another asked. ``elicit``: a
    client that you close; None makes one, which ``aclose`` closes.
    """

    def __init__(
        self,
        conn: Client,
        client_capabilities: ClientCapabilities | None,
        user: User,
        elicit: Elicit | None = None,
        *,
        agent: str,
    ) -> None:
        self._agent = named("agent", agent)
        self._peer = Peer(conn, client_capabilities)
        self._user = claim(user)
        self._elicit = elicit or Elicit()
        self._made = elicit is None
        self._shown: set[str] = set()

    def in_session(self, session_id: str, tool_call_id: str | None = None) -> Scoped:
        """Return the questions of a session, or of one tool call in it.

        A tool call that asks the same thing again, even after a crash, gets the question that is still open or that
        nobody has acted on. Without ``tool_call_id`` each question is new.
        """
        return Scoped(self, acp.in_session(session_id, tool_call_id), lasting=tool_call_id is not None)

    def in_request(self, request_id: str | int) -> Scoped:
        """Return the questions to ask before a session exists, while you answer a request of the client's
        (``authenticate``).
        """
        return Scoped(self, acp.in_request(request_id), lasting=False)

    async def resume(self, session_id: str) -> list[Resumed]:
        """Return the user's questions in that session that nobody has acted on, oldest first.

        Call it after a restart, or on a new connection that continues an old session. Raises ElicitError.
        """

        def is_ours(one: Elicitation) -> bool:
            """The session's id alone proves nothing, so the agent has to match as well, and the user."""
            scope = one.metadata.get(SCOPE)
            session = scope.get("sessionId") if isinstance(scope, dict) else None
            return (one.metadata.get(AGENT), session) == (self._agent, session_id)

        with no_address():
            earlier = await unfinished(self._elicit, self._user, is_ours)
        return [Resumed(self, one) for one in earlier if one.id not in self._shown]

    async def _ask(self, question: Question, scope: Json, *, lasting: bool) -> Outcome:
        """Create the question and wait for its outcome. Raises CannotAsk, UnknownAnswer and ElicitError.

        ``lasting``: the same question in this scope is found again, by its idempotency key.
        """
        user, metadata = self._user, {**question.options.get("metadata", {}), SCOPE: scope, AGENT: self._agent}
        options: Options = {**question.options, "metadata": metadata}
        if lasting and "idempotency_key" not in options:
            key = key_of(SCOPE, user.iss, user.sub, question.kind, question.params, question.message, options)
            options["idempotency_key"] = key
        with no_address():
            create = self._elicit.create(question.kind, user, question.params, message=question.message, **options)
            asked = await kept(self._elicit, create)
        return question.outcome(await self._see_through(asked, scope))

    async def _see_through(self, asked: Elicitation, scope: Json) -> Outcome:
        """Return the outcome, once: a second caller gets ConflictError ``already_consumed``."""
        with no_address():
            if asked.over:
                outcome = outcome_of(asked)
            elif asked.id in self._shown:  # ACP allows one open request for an id on a connection
                outcome = outcome_of(await self._elicit.wait(asked))
            else:
                self._shown.add(asked.id)
                try:
                    outcome = await Asking(self._elicit, self._peer, asked, scope).outcome()
                finally:
                    self._shown.discard(asked.id)
            await self._elicit.consume(asked)
        return outcome

    async def aclose(self) -> None:
        """Close the client that was made here."""
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
    """The questions of one scope. ``await`` what a method returns: it asks, waits and gives the outcome."""

    flows: AcpFlows
    scope: Json
    lasting: bool

    async def _asked(self, question: Question) -> Outcome:
        return await self.flows._ask(question, self.scope, lasting=self.lasting)


@dataclass(frozen=True, slots=True)
class Resumed:
    """An earlier question. ``elicitation.kind``, ``.message`` and ``.metadata`` say what it was about."""

    flows: AcpFlows
    elicitation: Elicitation

    @property
    def tool_call_id(self) -> str | None:
        """The tool call that asked; None if the question was asked outside of one."""
        scope: Json = self.elicitation.metadata[SCOPE]
        return scope.get("toolCallId")

    async def outcome(self) -> Outcome:
        """Show the question to the client of this connection, unless it has ended, wait, and return the outcome.

        Raises CannotAsk, UnknownAnswer and ElicitError.
        """
        return await self.flows._see_through(self.elicitation, self.elicitation.metadata[SCOPE])
