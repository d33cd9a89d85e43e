"""Shared by all protocols: one question for one call, acting on its answer once, cancelling it, finding open ones."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Claim, Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError, StillWaiting
from elicit_flows.sdk.outcomes import Cancelled, Declined, Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires.forms import submitted
from elicit_flows.wires.reply import DECLINE

CONFLICT = 409
ADDRESSED = ("unreachable", "unexpected_answer")  # errors whose text names the service's address
LONGEST = timedelta(days=30)  # the longest lifetime of a link
SETTLING_SECONDS = 10.0  # a question that can no longer be cancelled is over, or ends soon


def key_of(*said: Any) -> str:
    """An idempotency key that is the same in every process for the same JSON."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def named(what: str, name: str) -> str:
    """Return ``name``. Raises ValueError if it is not a text or is empty."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{what}: Give a name that no other {what} with the same API key has, not {name!r}.")
    return name


@contextmanager
def no_address() -> Iterator[None]:
    """Keep the service's address out of errors that a library would pass on to its peer; only the traceback has it."""
    try:
        yield
    except ElicitError as error:
        if error.code not in ADDRESSED:
            raise
        plain = type(error).__new__(type(error))  # the subclasses take different arguments
        plain.__dict__.update(error.__dict__, detail="The service does not answer")
        plain.args = (f"{plain.detail} [{error.code}]",)
        raise plain from error


async def acted_on(elicit: Elicit, elicitation: Elicitation) -> bool:
    """Claim the elicitation for this run: True for the first caller, False for all others. Raises ElicitError."""
    try:
        await elicit.consume(elicitation)
    except ElicitError as refused:
        if refused.code != "already_consumed":
            raise
        return False
    return True


async def unfinished(elicit: Elicit, user: Claim, mine: Callable[[Elicitation], bool]) -> list[Elicitation]:
    """The user's questions that nobody has acted on yet, open or over, for which ``mine`` is true; oldest first."""
    found: list[Elicitation] = []
    async with aclosing(elicit.elicitations(user)) as newest_first:
        async for one in newest_first:
            if one.created_at is not None and datetime.now(UTC) - one.created_at > LONGEST:
                break
            if one.consumed_at is None and mine(one):
                found.append(one)
    return found[::-1]


async def withdraw(elicit: Elicit, questions: Iterable[Elicitation]) -> None:
    """Cancel questions whose answers are of no use any more. The same call may ask them anew. What was answered before
    that stays answered. Raises ElicitError.
    """
    for one in questions:
        try:
            seen = await elicit.cancel(one)
        except ElicitError as refused:
            if refused.status != CONFLICT:
                raise
        else:
            if seen.status is Status.CANCELLED:
                await acted_on(elicit, seen)


async def kept(elicit: Elicit, create: Coroutine[Any, Any, Elicitation]) -> Elicitation:
    """The question that ``create`` makes, withdrawn if the caller is cancelled before it is there."""
    made = asyncio.ensure_future(create)
    try:
        return await asyncio.shield(made)
    except asyncio.CancelledError:
        with suppress(ElicitError, TimeoutError):
            await withdraw(elicit, [await asyncio.wait_for(made, SETTLING_SECONDS)])
        raise


async def handed_in(elicit: Elicit, elicitation: Elicitation, content: Json | None) -> Outcome:
    """Submit a form, and return the outcome, also if it has ended before that. Raises ElicitError."""
    answers: Any = submitted(content or {})
    try:
        seen = await elicit.complete(elicitation, answers)
    except ElicitError as refused:
        if refused.code != "already_over":
            raise
        seen = await elicit.get(elicitation)
    return outcome_of(seen)


async def taken_back(elicit: Elicit, elicitation: Elicitation, action: str) -> Outcome:
    """Cancel a question because the client said ``action`` (decline or cancel), and return the outcome.

    If the user was quicker, that is the user's outcome. Raises ElicitError, and StillWaiting if the question neither
    can be cancelled nor ends soon (a payment that waits for a bank).
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
