"""One reader of the feeds for all waiters of a process.

Woken by the bell, it reads what is new in the feeds that somebody waits for, once, and hands the events to whoever
they concern. When no bell rings it looks every second: the database is the truth, the bell only makes it quick.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from django.db import DatabaseError, close_old_connections

from elicit_flows.models import Event, Feed
from elicit_flows.queue import feed
from elicit_flows.values import Json

T = TypeVar("T")
THREADS = 4
BATCH = 500
RECENT = 1000  # events kept in memory for each feed that is watched
POLL = 1.0


class Waiter:
    """One request that waits for one elicitation."""

    __slots__ = ("_newest", "_told")

    def __init__(self) -> None:
        self._newest: Json | None = None
        self._told: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(self, elicitation: Json) -> None:
        """May be called several times before the request gets to read: the last one counts."""
        self._newest = elicitation
        if not self._told.done():
            self._told.set_result(None)

    async def news(self, timeout: float) -> Json | None:
        """The newest that was told since the last call, within ``timeout`` seconds; else None."""
        done, _ = await asyncio.wait({self._told}, timeout=timeout)
        if done:
            self._told = asyncio.get_running_loop().create_future()
        newest, self._newest = self._newest, None
        return newest


class Watch:
    """Those who wait for one agent's events."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.users = 0
        self.recent: deque[tuple[int, Json]] = deque(maxlen=RECENT)
        self.by_elicitation: defaultdict[str, set[Waiter]] = defaultdict(set)
        self.streams: set[asyncio.Event] = set()
        self.reading: asyncio.Task[None] | None = None
        self.rung = False

    def dispatch(self, events: list[Event]) -> None:
        for event in events:
            self.recent.append((event.position, event.body()))
            self.position = event.position
            for waiter in self.by_elicitation.get(event.elicitation_id or "", ()):
                waiter.tell(event.data)
        if events:
            for stream in self.streams:
                stream.set()

    @contextmanager
    def waiting_for(self, elicitation_id: str) -> Iterator[Waiter]:
        """Inside, no event of the elicitation is missed."""
        waiter = Waiter()
        self.by_elicitation[elicitation_id].add(waiter)
        try:
            yield waiter
        finally:
            self.by_elicitation[elicitation_id].discard(waiter)
            if not self.by_elicitation[elicitation_id]:
                del self.by_elicitation[elicitation_id]

    def since(self, position: int) -> list[tuple[int, Json]] | None:
        """The events behind ``position`` from memory, or None when memory does not reach back that far."""
        if position >= self.position:
            return []
        if not self.recent or self.recent[0][0] > position + 1:
            return None
        return [pair for pair in self.recent if pair[0] > position]


class Hub:
    """Lives on one event loop. ``ring`` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="wait")
        self._watches: dict[int, Watch] = {}
        self._poller = self._loop.create_task(self._poll())

    async def run(self, call: Callable[[], T]) -> T:
        """Run a database call in one of the plane's few threads."""
        return await self._loop.run_in_executor(self._pool, _with_fresh_connection, call)

    @asynccontextmanager
    async def watching(self, agent_id: int) -> AsyncIterator[Watch]:
        """The agent's watch, kept up to date while somebody is inside."""
        watch = self._watches.get(agent_id)
        if watch is None:
            position = await self.run(lambda: feed.head(agent_id))
            watch = self._watches.setdefault(agent_id, Watch(position))
        watch.users += 1
        try:
            yield watch
        finally:
            watch.users -= 1
            if not watch.users:
                self._watches.pop(agent_id, None)

    def ring(self, agent_id: int) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._rung, agent_id)

    def _rung(self, agent_id: int) -> None:
        watch = self._watches.get(agent_id)
        if watch is None:
            return
        watch.rung = True
        if watch.reading is None:
            watch.reading = self._loop.create_task(self._read(agent_id, watch))

    async def _read(self, agent_id: int, watch: Watch) -> None:
        try:
            while watch.rung:
                watch.rung = False
                events = await self.run(lambda: feed.after(agent_id, watch.position, BATCH))
                watch.dispatch(events)
                watch.rung |= len(events) == BATCH
        except DatabaseError:
            return  # the poller comes back to it
        finally:
            watch.reading = None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            if not self._watches:
                continue
            with contextlib.suppress(DatabaseError):
                for agent_id, position in await self.run(self._heads):
                    watch = self._watches.get(agent_id)
                    if watch and position > watch.position:
                        self._rung(agent_id)

    def _heads(self) -> list[tuple[int, int]]:
        return list(Feed.objects.filter(pk__in=list(self._watches)).values_list("agent_id", "position"))

    async def close(self) -> None:
        self._poller.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _with_fresh_connection(call: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return call()
    finally:
        close_old_connections()
