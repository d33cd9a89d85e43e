"""A task: an elicitation with a note, which holds what any process needs to continue it.

The elicitation's status is the task's. Members of the note: ``call``, the parameters of the tool call. ``at`` and
``state``: the questions that the task waits for, and the guards' state for them. ``reply el_…``: the client's answer to
one of them. ``beat``: when the process that runs the tool was last alive. ``result`` or ``error``: the end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    """A task as it was last read. ``first``: the elicitation with the note. ``asked``: what the task waits for."""

    id: str
    first: Elicitation
    asked: Sequence[Elicitation]
    note: dict[str, str]

    @classmethod
    async def found(cls, elicit: Elicit, id: str, first: str) -> Task | None:
        """The task; None if there is none, or no longer. Raises ElicitError."""
        seen = await elicit.get(first)
        note = await elicit.note(first)
        if "call" not in note:
            return None
        at = note["at"].split()
        if at != [first]:
            asked = [seen if one == first else await elicit.get(one) for one in at]
            # Read the note after the questions: a run notes that it begins before it claims the answers.
            return cls(id, seen, asked, await elicit.note(first))
        return cls(id, seen, [seen], note)

    @property
    def call(self) -> Json:
        call: Json = self._noted("call")
        return call

    @property
    def replies(self) -> dict[str, Json]:
        """The client's answers to the questions that the task waits for, by the questions' ids."""
        said = {one.id: self.note.get(_reply(one.id)) for one in self.asked}
        return {asked: {"action": action} for asked, action in said.items() if action}

    @property
    def refused(self) -> bool:
        return any(reply["action"] != ACCEPT for reply in self.replies.values())

    @property
    def ends(self) -> bool:
        """Whether nothing more is to be answered: all questions are over, or one was answered with a no."""
        over = [one for one in self.asked if one.over]
        no = self.refused or any(one.status is not Status.COMPLETED for one in over)
        return no or len(over) == len(self.asked)

    @property
    def acted_on(self) -> Elicitation | None:
        """A question whose answer a run of the tool has claimed."""
        claimed = [one for one in self.asked if one.consumed_at is not None]
        return next((one for one in claimed if self.refused or one.status is not Status.CANCELLED), None)

    @property
    def ending(self) -> Ending | None:
        """How it ended, as the status and members of ``tasks/get``; None while it goes on."""
        if "result" in self.note:
            return wire.COMPLETED, {"result": self._noted("result")}
        if "error" in self.note:
            return wire.FAILED, {"error": self._noted("error")}
        cancelled = any(one.status is Status.CANCELLED for one in self.asked)
        if cancelled and not self.refused and all(one.over for one in self.asked):
            return wire.CANCELLED, {}
        noted = self.note.get("beat")
        alive = noted is not None and datetime.now(UTC) - datetime.fromisoformat(noted) < SILENCE
        if self.acted_on is None or alive:
            return None
        if "beat" in self.note:
            return wire.FAILED, {"error": DIED}
        return wire.COMPLETED, {"result": marked(used(self.acted_on))}

    @property
    def due(self) -> bool:
        """Whether the tool is to be called again, to run, to report a no, or to ask the next question."""
        return self.ending is None and self.acted_on is None and self.ends

    def attempt(self, elicit: Elicit) -> Attempt:
        return Attempt(self._noted("state"), self.replies, lambda: elicit.add_to_note(self.first, beat()))

    def told(self) -> Json:
        """The answer to ``tasks/get``."""
        left = [] if self.ends else [one for one in self.asked if not one.over and one.id not in self.replies]
        asks = {one.id: rounds.input_request(asdict(one)) for one in left}
        going_on: Ending = (wire.INPUT_REQUIRED, {"inputRequests": asks}) if asks else (wire.WORKING, {})
        status, more = self.ending or going_on
        return wire.detailed(self._members(status), **more)

    def created(self) -> Json:
        """The answer to the call."""
        return wire.created(self._members(wire.INPUT_REQUIRED))

    def _members(self, status: str) -> Json:
        created = self.first.created_at or datetime.now(UTC)
        updated = max([one.finished_at or one.created_at or created for one in self.asked])
        return wire.task(self.id, status, created, updated, self.first.expires_at or created)

    def _noted(self, name: str) -> Any:
        return json.loads(self.note[name])


def waits_for(asked: Sequence[Elicitation], state: Json | None) -> dict[str, str | None]:
    """What is noted when guards wait for their user."""
    return {"at": " ".join(one.id for one in asked), "state": json.dumps(state)}


def replied(asked: Elicitation, action: str) -> dict[str, str | None]:
    return {_reply(asked.id): action}


def beat() -> dict[str, str | None]:
    """The current time, as noted. The clocks of a server's processes may differ by up to half a minute."""
    return {"beat": datetime.now(UTC).isoformat()}


def _reply(asked: str) -> str:
    return f"reply {asked}"
