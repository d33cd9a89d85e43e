"""One question of one call: an action that is called again with the same arguments finds the same question."""

from __future__ import annotations

from typing import Any

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.once import acted_on, key_of
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Claim

STALE = (Status.EXPIRED, Status.CANCELLED)  # nobody answered; an earlier call may have told so


class Tickets:
    """The questions of one user and ``call``, which is JSON: the action and its arguments."""

    def __init__(self, elicit: Elicit, user: Claim, call: Any) -> None:
        self._elicit = elicit
        self._user = user
        self._call = call

    async def ask(self, question: Question) -> Elicitation:
        """The question that an earlier call left open, or whose answer no call has acted on; else a new one."""
        seen = await self._create(question)
        if seen.status in STALE:
            await acted_on(self._elicit, seen)
            seen = await self._create(question)
        return seen

    async def _create(self, asked: Question) -> Elicitation:
        key = key_of(self._user.iss, self._user.sub, self._call, asked.kind, asked.params, asked.message)
        options: Any = {"idempotency_key": key, **asked.options}
        return await self._elicit.create(asked.kind, self._user, asked.params, message=asked.message, **options)
