"""The question of one tool call: the same in every process that runs the call, and acted on once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from elicit_flows.domain.values import Claim
from elicit_flows.sdk import words
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import NotFoundError
from elicit_flows.sdk.frameworks.answers import RUN
from elicit_flows.sdk.functions import plain
from elicit_flows.sdk.idempotency import acted_on, key_of
from elicit_flows.sdk.outcomes import Completed, outcome_of
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation

CONNECTS = ("oauth", "credentials")  # a connection lasts, so acting on it twice does no harm


@dataclass(frozen=True, slots=True)
class Place:
    """``run``: the id under which the framework keeps the run. ``call``: the id of the tool call, which stays the same
    when the run is resumed. ``found``: the elicitation, as the framework kept it; a hint, which is checked.
    """

    run: str
    call: str
    found: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What the model is told of a tool that was not run."""

    text: str


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """``tool`` and ``arguments`` are part of the question: a yes to one call is none to another."""

    app: str
    place: Place
    user: Claim
    tool: str
    arguments: dict[str, Any]
    question: Question

    async def look(self, elicit: Elicit, found: str | None = None) -> Elicitation:
        """Return the question of this call as it stands now. It is asked if it has not been yet.

        ``found``: the id of a question that may be it. An answer to any other question is not looked at.
        """
        asked, place, user = self.question, self.place, self.user
        told = (asked.kind, asked.params, asked.message)
        arguments = json.dumps(self.arguments, sort_keys=True, default=plain)
        key = key_of(self.app, place.run, place.call, user.iss, user.sub, self.tool, told, arguments)
        kept = {"app": self.app, "run": place.run, "call": place.call, "key": key}
        known = found or place.found
        if known is not None:
            try:
                seen = await elicit.get(known)
            except NotFoundError:
                seen = None
            if seen is not None and (seen.subject, seen.metadata.get(RUN)) == (user, kept):
                return seen
        metadata = {**asked.options.get("metadata", {}), RUN: kept}
        options: Any = {**asked.options, "metadata": metadata, "idempotency_key": key}
        return await elicit.create(asked.kind, user, asked.params, message=asked.message, **options)

    async def act(self, elicit: Elicit, seen: Elicitation) -> Completed | Told:
        """The outcome that the tool may act on, or why it may not. A yes is good for one run of the tool.

        A no, and a connection, stay as they are for a run that is resumed again.
        """
        outcome = self.question.outcome(outcome_of(seen))
        if not isinstance(outcome, Completed):
            said = words.no(outcome)
            return Told(f"{said.verdict}: {said.text}")
        if seen.kind not in CONNECTS and not await acted_on(elicit, seen):
            return Told(f"cancelled: {words.USED}")
        return outcome
