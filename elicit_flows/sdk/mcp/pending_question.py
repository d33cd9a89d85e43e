"""The question of one call: when the call is repeated, it is the same question."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Self

from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Claim, Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.idempotency import acted_on
from elicit_flows.sdk.outcomes import Completed, Declined, Outcome, outcome_of
from elicit_flows.sdk.questions import Question
from elicit_flows.sdk.shapes import Elicitation

NO = "declined"  # the member of the note that says when a call was told about the no
NOES = (Status.DECLINED, Status.CANCELLED)
NOTE_SECONDS = 5.0
MOST_WAITING = 1000  # functions; whoever calls one that was dropped is asked from the start
CALL = "mcp_call"  # the member of an elicitation's metadata that says which call it belongs to


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """``key`` identifies server, user, client, tool and arguments. ``place``: the guard's position on the tool.
    ``ask_again_after``: seconds for which a no stands. ``found``: the elicitation, if it is known. ``chain``: what the
    client's state has to say about a question from inside a function, see ``Chain``.
    """

    place: int
    key: str
    question: Question
    user: Claim
    ask_again_after: float
    found: str | None = None
    chain: Json = field(default_factory=dict)

    async def ask(self, elicit: Elicit) -> Elicitation:
        """Return the question of this call. It is new only if there is none that is open, unreported, or declined a
        moment ago.
        """
        if self.found is not None:
            return await elicit.get(self.found)
        asked = self.question
        metadata = {**asked.options.get("metadata", {}), CALL: self.key}
        options: Any = {**asked.options, "metadata": metadata, "idempotency_key": self.key}
        create = partial(elicit.create, asked.kind, self.user, asked.params, message=asked.message, **options)
        seen = await create()
        if seen.status == Status.EXPIRED or await self._is_stale(elicit, seen) or await self._is_old_no(elicit, seen):
            await acted_on(elicit, seen)
            seen = await create()
        return seen

    async def _is_stale(self, elicit: Elicit, seen: Elicitation) -> bool:
        """Whether it led to a connection that has ended since, because the call never came back."""
        connection = (seen.result or {}).get("connection")
        if connection is None or seen.reused:
            return False
        standing = await elicit.connections(self.user)
        return connection not in {one.id for one in standing if one.status == "active"}

    async def _is_old_no(self, elicit: Elicit, seen: Elicitation) -> bool:
        """Whether it was declined, and reported longer than ``ask_again_after`` ago."""
        told = (await elicit.note(seen)).get(NO) if seen.status in NOES else None
        if told is None:
            return False
        return datetime.now(UTC) - datetime.fromisoformat(told) > timedelta(seconds=self.ask_again_after)

    async def outcome(self, elicit: Elicit, seen: Elicitation) -> Outcome:
        """How it ended. The service sees a decline in the client as a cancelled question; the note tells them apart."""
        if seen.status == Status.CANCELLED and NO in await elicit.note(seen):
            return Declined(seen)
        return outcome_of(seen)

    async def keep(self, elicit: Elicit, no: Declined) -> bool:
        """Store a no for the next calls, which other processes may serve. False if it could not be stored."""
        try:
            async with asyncio.timeout(NOTE_SECONDS):
                if NO not in await elicit.note(no.elicitation):
                    await elicit.add_to_note(no.elicitation, {NO: datetime.now(UTC).isoformat()})
        except (ElicitError, TimeoutError):
            return False
        return True

    async def again(self, elicit: Elicit, elicitation: Any) -> Elicitation | None:
        """The question with this id, if it was asked for this call and user."""
        if not isinstance(elicitation, str):
            return None
        try:
            seen = await elicit.get(elicitation)
        except ElicitError as refused:
            if refused.status == 404:
                return None
            raise
        return seen if (seen.subject, seen.metadata.get(CALL)) == (self.user, self.key) else None


async def until_a_no(
    waits: Mapping[int, Coroutine[Any, Any, Outcome | Elicitation]],
) -> dict[int, Outcome | Elicitation]:
    """What these return, by place: all of it, or as much as there is when the first of them returns a no."""
    tasks = {place: asyncio.ensure_future(one) for place, one in waits.items()}
    try:
        for returned in asyncio.as_completed(tasks.values()):
            if is_no(await returned):
                break
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    return {at: task.result() for at, task in tasks.items() if not task.cancelled() and task.exception() is None}


def is_no(found: Outcome | Elicitation) -> bool:
    return isinstance(found, Outcome) and not isinstance(found, Completed)


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a function stopped that asks from inside. ``run``: whose call it is. ``passed``: the elicitations that it
    has acted on, by place. ``spent``: one of them is good for one run only. ``place``, ``id`` and ``key``: the question
    that it waits for.
    """

    run: str
    passed: Mapping[str, str]
    spent: bool
    place: int
    id: str
    key: str

    @classmethod
    def of(cls, state: Json | None) -> Self | None:
        """What a client's state says; None for one of a guard's question. The library has sealed the state."""
        if state is None or "run" not in state:
            return None
        return cls(**{name: state[name] for name in ("run", "passed", "spent", "place", "id", "key")})

    def pending(self, user: Claim, ask_again_after: float) -> PendingQuestion:
        """The question that it waits for, which was asked before and is not asked anew."""
        return PendingQuestion(self.place, self.key, _ASKED, user, ask_again_after, self.id, asdict(self))


_ASKED = Question("", {}, "", {})


class Earlier:
    """The functions that wait for an answer in this process, for clients that send no state when they call again."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Chain] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._known)

    def get(self, run: str) -> Chain | None:
        return self._known.get(run)

    def keep(self, chain: Chain) -> None:
        self._known[chain.run] = chain
        self._known.move_to_end(chain.run)
        while len(self._known) > MOST_WAITING:
            self._known.popitem(last=False)

    def forget(self, run: str) -> None:
        self._known.pop(run, None)
