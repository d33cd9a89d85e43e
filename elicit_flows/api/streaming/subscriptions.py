"""Who waits for what in one agent's feed. There may be very many waiters, so each is kept small."""

from __future__ import annotations

import asyncio
import time
from contextvars import Context

from elicit_flows.domain.status import TERMINAL
from elicit_flows.domain.values import Json
from elicit_flows.models import Event

RECENT = 1000  # events kept in memory for each feed that is watched
EVERYTHING = ""
DRAFT = "elicitation.draft"
_NO_CONTEXT = Context()  # a timer would copy that of its request


class Waiter:
    """One waiting request. It sleeps on one future and one timer."""

    __slots__ = ("_asleep", "_newest", "_told")

    def __init__(self) -> None:
        self._newest: Json | None = None
        self._told = False
        self._asleep: asyncio.Future[None] | None = None

    def tell(self, newest: Json | None) -> None:
        """Wake it with news. If called several times before the request reads, the last call counts."""
        self._newest, self._told = newest, True
        _wake(self._asleep)

    async def told(self, seconds: float) -> bool:
        """Whether there was news since the last call, or within ``seconds`` from now."""
        if not self._told:
            loop = asyncio.get_running_loop()
            self._asleep = loop.create_future()
            timer = loop.call_later(seconds, _wake, self._asleep, context=_NO_CONTEXT)
            try:
                await self._asleep
            finally:
                timer.cancel()
        told, self._told = self._told, False
        return told

    async def news(self, seconds: float) -> Json | None:
        """The newest news since the last call, or within ``seconds``; or else None."""
        return self._newest if await self.told(seconds) else None


def _wake(asleep: asyncio.Future[None] | None) -> None:
    if asleep and not asleep.done():
        asleep.set_result(None)


class Watch:
    """What this process knows of one agent's feed. ``key_hash`` is of the valid API key, "" if there is none."""

    __slots__ = ("_recent", "_waiters", "key_hash", "left_at", "position", "reading", "rung", "seen_at", "users")

    def __init__(self, position: int, key_hash: str = "") -> None:
        self.position, self.key_hash = position, key_hash
        self.users = 0
        self.seen_at = self.left_at = 0.0
        self.rung = False
        self.reading: asyncio.Task[None] | None = None
        self._recent: list[tuple[int, Json]] = []
        self._waiters: dict[str, list[Waiter]] = {}  # lists, because most have one, and a set is 130 bytes larger

    def dispatch(self, events: list[Event]) -> None:
        """Pass events that follow ``position`` to those who wait for them.

        A request that waits for an elicitation gets its new state, and nothing about its payment.
        """
        for event in events:
            self.position = event.position
            self._recent.append((event.position, event.body()))
            if event.type == DRAFT and event.elicitation_id:
                self._tell(
                    event.elicitation_id, {"seq": event.seq}
                )  # the event has only a part of the draft; the waiting request reads the rest
            elif event.elicitation_id and event.type.startswith("elicitation."):
                self._tell(event.elicitation_id, event.data)
                if event.data.get("status") in TERMINAL:
                    self._forget_drafts(event.elicitation_id)
        if events:
            del self._recent[:-RECENT]
            self._tell(EVERYTHING, None)

    def _forget_drafts(self, about: str) -> None:
        """Remove the drafts of a form that is over from memory, as they are removed from the database."""
        for _, body in self._recent:
            if body["elicitation"] == about and body["type"] == DRAFT:
                body["data"] = {**body["data"], "draft": None}

    def now_known_as(self, key_hash: str) -> None:
        """Record the valid key. Streams of a revoked key wake up and end."""
        self.seen_at = time.monotonic()
        if key_hash != self.key_hash:
            self.key_hash = key_hash
            self._tell(EVERYTHING, None)

    def abandoned(self, seconds: float) -> bool:
        """Whether nobody has waited here for that long."""
        return not self.users and time.monotonic() - self.left_at > seconds

    def _tell(self, about: str, news: Json | None) -> None:
        for waiter in self._waiters.get(about, ()):
            waiter.tell(news)

    def waiting_for(self, about: str) -> Place:
        """A context manager: within the block, no event of that elicitation (or of EVERYTHING) is missed."""
        return Place(self._waiters, about)

    def since(self, position: int) -> list[tuple[int, Json]] | None:
        """The events after ``position`` from memory; None if memory does not reach back that far."""
        if position >= self.position:
            return []
        if not self._recent or self._recent[0][0] > position + 1:
            return None
        return [pair for pair in self._recent if pair[0] > position]


class Place:
    """Adds a waiter within the block. A generator-based context manager would need four times the memory."""

    __slots__ = ("_about", "_everybody", "_waiter")

    def __init__(self, everybody: dict[str, list[Waiter]], about: str) -> None:
        self._everybody, self._about = everybody, about
        self._waiter = Waiter()

    def __enter__(self) -> Waiter:
        self._everybody.setdefault(self._about, []).append(self._waiter)
        return self._waiter

    def __exit__(self, *_: object) -> None:
        others = self._everybody[self._about]
        others.remove(self._waiter)
        if not others:
            del self._everybody[self._about]
