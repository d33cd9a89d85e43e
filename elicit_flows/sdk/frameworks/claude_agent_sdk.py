"""Claude's Agent SDK: a hook defers the tool call, the session keeps the run, and resuming it calls the hook again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, NotRequired, TypedDict

from claude_agent_sdk import ClaudeAgentOptions, Message, ResultMessage, query

from elicit_flows.domain.values import Json
from elicit_flows.sdk import words
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.frameworks.answers import Answer, asked
from elicit_flows.sdk.frameworks.pending_question import PendingQuestion, Place, Told
from elicit_flows.sdk.idempotency import acted_on, named, no_address
from elicit_flows.sdk.questions import Question, Questions
from elicit_flows.sdk.shapes import Event, User, claim

GO_ON = "The person has answered. Go on."
# A session keeps one deferred call: https://code.claude.com/docs/en/hooks#defer-a-tool-call-for-later
ONE_AT_A_TIME = "Another call of this turn waits for the person. Call this tool again when that call has its result."
# There, a call of a turn with several runs although it was deferred.
BYPASS = "bypassPermissions"
NO_BYPASS = f"A tool that asks a person does not run in the permission mode {BYPASS}."


class ToolUse(TypedDict):
    """What the hook is called with, as far as it is read."""

    session_id: str
    tool_name: str
    tool_input: Json
    tool_use_id: str
    permission_mode: NotRequired[str]


@dataclass(slots=True)
class Session:
    """Its calls are decided one after the other. ``deferred``: the call that waits, and what is asked."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    deferred: tuple[str, Json] | None = None


Hook = Callable[[Any, str | None, Any], Awaitable[Any]]
Asks = Callable[[Json], Question | None]


class ClaudeAgentFlows(Questions[Hook]):
    """Each method makes a hook for ``PreToolUse``, which asks before the tools run that its ``HookMatcher`` names.

    The tools may be anybody's. The run is the session: its id is ``Answer.run``. ``user``: the user of these sessions.
    ``app``: a name that no other app with the same API key has. ``elicit``: None makes one from the environment.
    """

    def __init__(self, user: User, elicit: Elicit | None = None, *, app: str) -> None:
        self._app = named("app", app)
        self._user = claim(user)
        self._elicit = elicit or Elicit()
        self._sessions: dict[str, Session] = {}

    def ask(self, asks: Asks) -> Hook:
        """Ask what ``asks`` returns for the tool's input; if it returns None, the hook decides nothing."""

        async def hook(data: ToolUse, tool_use_id: str | None, context: Any) -> Json:
            question = asks(data["tool_input"])
            if question is None:
                return {}
            if data.get("permission_mode") == BYPASS:
                return _decision("deny", NO_BYPASS)
            session = self._sessions.setdefault(data["session_id"], Session())
            async with session.lock:
                if session.deferred and session.deferred[0] != data["tool_use_id"]:
                    return _decision("deny", ONE_AT_A_TIME)
                return await self._alone(session, data, question)

        return hook

    def waiting(self, message: Message) -> list[Json]:
        """The question at which a run ends with this message, ``{elicitation, url, message, asked_at}``."""
        if not isinstance(message, ResultMessage):
            return []
        session = self._sessions.pop(message.session_id, Session())
        call = message.deferred_tool_use
        return [session.deferred[1]] if call and session.deferred and session.deferred[0] == call.id else []

    def answer(self, event: Event) -> Answer | None:
        """The answer that an event of the feed or of a webhook tells of; None if no run of this app waits for it."""
        return Answer.of(event, self._app)

    async def resume(
        self, options: ClaudeAgentOptions, answer: Answer, *, prompt: str = GO_ON
    ) -> AsyncGenerator[Message, None]:
        """Resume the session that waits for the answer, and yield what ``query`` does.

        Nothing if the answer was acted on before. ``options`` have this hook, and the session's folder as ``cwd``.
        """
        seen = await self._elicit.get(answer.elicitation)
        if seen.consumed_at is None:
            self._sessions.pop(answer.run, None)
            async for message in query(prompt=prompt, options=replace(options, resume=answer.run)):
                yield message

    async def _alone(self, session: Session, data: ToolUse, question: Question) -> Json:
        place = Place(data["session_id"], data["tool_use_id"])
        pending = PendingQuestion(self._app, place, self._user, data["tool_name"], data["tool_input"], question)
        with no_address():
            seen = await pending.look(self._elicit)
            if not seen.over:
                session.deferred = data["tool_use_id"], asked(seen)
                return _decision("defer", f"waiting: {words.waiting(seen)}")
            done = await pending.act(self._elicit, seen)
            if isinstance(done, Told):
                await acted_on(self._elicit, seen)  # so that the session is not resumed for it again
                return _decision("deny", done.text)
            return _decision("allow", "The person said yes.")

    def _asked(self, question: Question) -> Hook:
        return self.ask(lambda _: question)


def _decision(decision: str, reason: str) -> Json:
    said = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": said}
