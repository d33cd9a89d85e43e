"""One question of one call: asked again for the same call, it is the same question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.once import acted_on
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Claim

CALL = "mcp_call"  # the member of an elicitation's metadata that says which call it belongs to


@dataclass(frozen=True, slots=True)
class Ticket:
    """``key`` says which user, client, tool and arguments. ``place``: the guard's, where a tool has several."""

    place: int
    key: str
    question: Question
    user: Claim

    async def ask(self, elicit: Elicit) -> Elicitation:
        """The question of this call, new only where it has none that waits or waits to be told of."""
        seen = await self._create(elicit)
        if seen.status == Status.EXPIRED or await self._is_stale(elicit, seen):
            await acted_on(elicit, seen)
            seen = await self._create(elicit)
        return seen

    async def _is_stale(self, elicit: Elicit, seen: Elicitation) -> bool:
        """Whether it came to a connection, for a call that never came back, that has been given up since."""
        connection = (seen.result or {}).get("connection")
        if connection is None or seen.reused:
            return False
        standing = await elicit.connections(self.user)
        return connection not in {one.id for one in standing if one.status == "active"}

    async def _create(self, elicit: Elicit) -> Elicitation:
        asked = self.question
        metadata = {**asked.options.get("metadata", {}), CALL: self.key}
        options: Any = {**asked.options, "metadata": metadata, "idempotency_key": self.key}
        return await elicit.create(asked.kind, self.user, asked.params, message=asked.message, **options)

    async def again(self, elicit: Elicit, elicitation: Any) -> Elicitation | None:
        """The question with this id, if it was asked for this very call and user."""
        if not isinstance(elicitation, str):
            return None
        try:
            seen = await elicit.get(elicitation)
        except ElicitError as refused:
            if refused.status == 404:
                return None
            raise
        return seen if (seen.subject, seen.metadata.get(CALL)) == (self.user, self.key) else None
