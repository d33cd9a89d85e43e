"""One question of one call: an action that is called again with the same arguments finds the same question."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.outcomes import Cancelled, Declined, Outcome, outcome_of
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Claim
from elicit_flows.wires.reply import DECLINE, Reply

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
            await self.first_to_act(seen)
            seen = await self._create(question)
        return seen

    async def _create(self, asked: Question) -> Elicitation:
        said = [self._user.iss, self._user.sub, self._call, asked.kind, asked.params, asked.message]
        key = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        options: Any = {"idempotency_key": key, **asked.options}
        return await self._elicit.create(asked.kind, self._user, asked.params, message=asked.message, **options)

    async def first_to_act(self, seen: Elicitation) -> bool:
        """Whether no call has acted on it before: an answer is good for one. The next ``ask`` asks anew."""
        try:
            await self._elicit.consume(seen)
        except ElicitError as refused:
            if refused.code != "already_consumed":
                raise
            return False
        return True

    async def taken_back(self, seen: Elicitation, reply: Reply) -> Outcome:
        """After a no in the host. How it ended where the user was quicker in the browser."""
        try:
            ended = await self._elicit.cancel(seen)
        except ElicitError as refused:
            if refused.status != 409:
                raise
            return outcome_of(await self._elicit.wait(seen.id))
        return Declined(ended) if reply.action == DECLINE else Cancelled(ended)
