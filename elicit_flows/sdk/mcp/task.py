"""A task: an elicitation with a note, which holds what any process needs to continue it.

The elicitation's status is the task's. Members of the note: ``call``, the parameters of the tool call. ``at`` and
``state``: the question that the task waits for, and the guard's state for it. ``reply el_…``: the client's answer to
that question. ``beat``: when the process that runs the tool was last alive. ``result`` or ``error``: the end.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.mcp.messages import Words, used
from elicit_flows.sdk.mcp.task_attempt import Attempt
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires import mcp_2026_07_28 as rounds
from elicit_flows.wires import mcp_tasks as wire
from elicit_flows.wires.reply import ACCEPT

SILENCE = timedelta(seconds=60)  # four missed beats: the process that ran the tool has died
INTERNAL_ERROR = -32603
DIED = {"code": INTERNAL_ERROR, "message": "The tool was started, and its server stopped before it ended."}
Ending = tuple[str, Json]


def text_result(text: str, *, is_error: bool = False) -> Json:
    """A tool's result, made by hand."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": is_error}


def marked(said: Words) -> Json:
    return {**text_result(said.text), "_meta": said.meta}


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it was last read. ``first``: the elicitation with the note. ``asked``: the one that the task
    waits for.
    """

    id: str
    first: Elicitation
    asked: Elicitation
    note: dict[str, str]

    @classmethod
    async def found(cls, elicit: Elicit, id: str, first: str) -> Task | None:
        """The task; None if there is none, or no longer. Raises ElicitError."""
        seen = await elicit.get(first)
        note = await elicit.note(first)
        if "call" not in note:
            return None
        if note["at"] != first:
            asked = await elicit.get(note["at"])
            # Read the note after the question: a run notes that it begins before it claims the answer.
            return cls(id, seen, asked, await elicit.note(first))
        return cls(id, seen, seen, note)

    @property
    def call(self) -> Json:
        call: Json = self._noted("call")
        return call

    @property
    def replies(self) -> dict[str, Json]:
        """The client's answer to the question that the task waits for, by the question's id."""
        action = self.note.get(_reply(self.asked.id))
        return {self.asked.id: {"action": action}} if action else {}

    @property
    def agreed(self) -> bool:
        return self.note.get(_reply(self.asked.id)) == ACCEPT

    @property
    def refused(self) -> bool:
        return bool(self.replies) and not self.agreed

    @property
    def ending(self) -> Ending | None:
        """How it ended, as the status and members of ``tasks/get``; None while it goes on."""
        if "result" in self.note:
            return wire.COMPLETED, {"result": self._noted("result")}
        if "error" in self.note:
            return wire.FAILED, {"error": self._noted("error")}
        if self.asked.status is Status.CANCELLED and not self.refused:
            return wire.CANCELLED, {}
        if self.asked.consumed_at is None or self._alive:
            return None
        if "beat" in self.note:
            return wire.FAILED, {"error": DIED}
        return wire.COMPLETED, {"result": marked(used(self.asked))}

    @property
    def due(self) -> bool:
        """Whether the tool is to be called again, to run, to report a no, or to ask the next question."""
        return self.ending is None and self.asked.consumed_at is None and (self.asked.over or self.refused)

    def attempt(self, elicit: Elicit) -> Attempt:
        return Attempt(self._noted("state"), self.replies, lambda: elicit.add_to_note(self.first, beat()))

    def told(self) -> Json:
        """The answer to ``tasks/get``."""
        status, more = self.ending or self._going_on()
        return wire.detailed(self._members(status), **more)

    def created(self) -> Json:
        """The answer to the call."""
        return wire.created(self._members(wire.INPUT_REQUIRED))

    def _going_on(self) -> Ending:
        if self.asked.over or self.agreed:
            return wire.WORKING, {}
        return wire.INPUT_REQUIRED, {"inputRequests": {self.asked.id: rounds.input_request(asdict(self.asked))}}

    def _members(self, status: str) -> Json:
        created = self.first.created_at or datetime.now(UTC)
        updated = self.asked.finished_at or self.asked.created_at or created
        return wire.task(self.id, status, created, updated, self.first.expires_at or created)

    @property
    def _alive(self) -> bool:
        noted = self.note.get("beat")
        return noted is not None and datetime.now(UTC) - datetime.fromisoformat(noted) < SILENCE

    def _noted(self, name: str) -> Any:
        return json.loads(self.note[name])


def waits_for(asked: Elicitation, state: Json | None) -> dict[str, str | None]:
    """What is noted when a guard waits for its user."""
    return {"at": asked.id, "state": json.dumps(state)}


def replied(asked: Elicitation, action: str) -> dict[str, str | None]:
    return {_reply(asked.id): action}


def beat() -> dict[str, str | None]:
    """The current time, as noted. The clocks of a server's processes may differ by up to half a minute."""
    return {"beat": datetime.now(UTC).isoformat()}


def _reply(asked: str) -> str:
    return f"reply {asked}"
