"""The question of one call: an action that is called again with the same arguments gets the same question."""

from __future__ import annotations

from functools import partial
from typing import Any

from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Claim
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.idempotency import acted_on, key_of
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation

STALE = (Status.EXPIRED, Status.CANCELLED)  # nobody answered, and an earlier call may have reported that


class PendingQuestions:
    """The questions of one user in one ``call``: JSON with the app, the action and its arguments."""

    def __init__(self, elicit: Elicit, user: Claim, call: Any) -> None:
        self._elicit = elicit
        self._user = user
        self._call = call

    async def ask(self, question: Question) -> Elicitation:
        """Return the question that an earlier call left open, or whose answer no call has acted on; or else a
        new one.
        """
        user = self._user
        key = key_of(user.iss, user.sub, self._call, question.kind, question.params, question.message)
        options: Any = {"idempotency_key": key, **question.options}
        create = partial(self._elicit.create, question.kind, user, question.params, message=question.message, **options)
        seen = await create()
        if seen.status in STALE:
            await acted_on(self._elicit, seen)
            seen = await create()
        return seen
