"""What every protocol's side needs: the same question for the same call, acted on once, and taken back by a no."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError, StillWaiting
from elicit_flows.sdk.outcomes import Cancelled, Declined, Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Claim
from elicit_flows.wires.reply import DECLINE

CONFLICT = 409
LONGEST = timedelta(days=30)  # no link lives longer
SETTLING_SECONDS = 10.0  # what can be taken back no more is over, or about to be


def key_of(*said: Any) -> str:
    """An idempotency key: the same in every process for the same JSON."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


async def acted_on(elicit: Elicit, elicitation: Elicitation) -> bool:
    """Whether this is the first time that somebody acts on it: an answer is good for one run. Raises ElicitError."""
    try:
        await elicit.consume(elicitation)
    except ElicitError as refused:
        if refused.code != "already_consumed":
            raise
        return False
    return True


async def unfinished(elicit: Elicit, user: Claim, mine: Callable[[Elicitation], bool]) -> list[Elicitation]:
    """What this user was asked and nobody has acted on yet, open or over, where it is ``mine``; the oldest first."""
    found: list[Elicitation] = []
    async with aclosing(elicit.elicitations(user)) as newest_first:
        async for one in newest_first:
            if one.created_at is not None and datetime.now(UTC) - one.created_at > LONGEST:
                break
            if one.consumed_at is None and mine(one):
                found.append(one)
    return found[::-1]


async def taken_back(elicit: Elicit, elicitation: Elicitation, action: str) -> Outcome:
    """The outcome where the client said ``action``, decline or cancel, for its user; what came of it where the user was
    quicker. Raises ElicitError; StillWaiting where that takes longer, as a bank does.
    """
    try:
        seen = await elicit.cancel(elicitation)
    except ElicitError as refused:
        if refused.status != CONFLICT:
            raise
        seen = await elicit.wait(elicitation.id, timeout=SETTLING_SECONDS)
        if not seen.over:
            raise StillWaiting(seen) from refused
    if seen.status is not Status.CANCELLED:
        return outcome_of(seen)
    return Declined(seen) if action == DECLINE else Cancelled(seen)
