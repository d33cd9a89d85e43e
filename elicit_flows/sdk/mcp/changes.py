"""Notifies clients when a user's connection ends, because they are then shown other tools."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from elicit_flows.domain.values import Claim, Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import claim

log = logging.getLogger(__name__)
ENDS = ("connection.revoked", "connection.reauthorization_required")
RETRY_SECONDS = 30.0
SESSIONS = 1000  # the end of a session is not known, so only those that listed their tools last are kept
Tell = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Listener:
    """A client to notify, and the user and provider whose connections concern it."""

    user: Claim
    provider: str
    tell: Tell

    def concerns(self, connection: Json) -> bool:
        return (self.user, self.provider) == (claim(connection["subject"]), connection["provider"])


@dataclass(slots=True)
class Changes:
    """The clients of one server process. It reads the agent's events from the moment the first client is added."""

    elicit: Callable[[], Elicit]
    _streams: dict[object, Listener] = field(default_factory=dict)
    _sessions: OrderedDict[object, Listener] = field(default_factory=OrderedDict)
    _watch: asyncio.Task[None] | None = None

    @contextmanager
    def heard(self, listener: Listener) -> Iterator[None]:
        """Within the block, notify a client whose stream is open."""
        key = object()
        self._streams[key] = listener
        self._follow()
        try:
            yield
        finally:
            del self._streams[key]

    def remember(self, session: object, listener: Listener) -> None:
        """Notify a session of revision 2025-11-25. The library does not say when it ends."""
        self._sessions[session] = listener
        self._sessions.move_to_end(session)
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        self._follow()

    def _follow(self) -> None:
        if self._watch is None or self._watch.done():
            self._watch = asyncio.ensure_future(self._events())

    async def _events(self) -> None:
        cursor: str | None = None
        while True:
            try:
                cursor = cursor or await self.elicit().newest()
                async with aclosing(self.elicit().events(cursor)) as events:
                    async for event in events:
                        cursor = event.cursor or cursor
                        if event.type in ENDS:
                            await self._tell(event.data)
            except ElicitError as error:
                log.warning("clients are told later that a connection has ended: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _tell(self, connection: Json) -> None:
        for listener in [*self._streams.values(), *self._sessions.values()]:
            if listener.concerns(connection):
                await listener.tell()
