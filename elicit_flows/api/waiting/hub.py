"""One reader of the feeds for all waiters of a process.

Woken by the bell, it reads what is new in the feeds that somebody waits for, once, and hands the events to whoever
they concern. When no bell rings it looks every second: the database is the truth, the bell only makes it quick.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from elicit_flows.api.auth import REMEMBER
from elicit_flows.api.waiting.watch import Watch
from elicit_flows.queue import feed

log = logging.getLogger(__name__)
T = TypeVar("T")
THREADS = 4
BATCH = 500
POLL = 0.9  # seconds in which every feed that is watched is looked at once
AT_ONCE = 500  # feeds looked at in one go: more would hold up those who are being told
LINGER = 5.0  # seconds for which a feed is watched after its last waiter has left


class Asker(NamedTuple):
    """Who waits: all that is kept of an agent for as long as it does."""

    agent_id: int
    key_hash: str


class Hub:
    """Lives on one event loop. ``ring`` and ``look`` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="wait")
        self._watches: dict[int, Watch] = {}
        self._look_now = asyncio.Event()
        self._by_key: dict[str, int] = {}
        self._poller = self._loop.create_task(self._poll())
        # Set while any feed is watched: whoever hears bells may rest otherwise.
        self.attended = threading.Event()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a database call in one of the plane's few threads. It may be run twice, so it must bear that."""
        return await self._loop.run_in_executor(self._pool, _resilient, call)

    def knows(self, key_hash: str) -> Asker | None:
        """Whose key this is, where a look at the watched feeds has just found it good: needs no database."""
        agent_id = self._by_key.get(key_hash)
        if agent_id is None or time.monotonic() - self._watches[agent_id].seen_at > REMEMBER:
            return None
        return Asker(agent_id, key_hash)

    def watching(self, asker: Asker) -> Attendance:
        """``async with`` it: the agent's watch, kept up to date while somebody is inside."""
        return Attendance(self, asker)

    async def enter(self, agent_id: int, key_hash: str) -> Watch:
        """The agent's watch, for somebody who came with this key: a watch that knows another looks again."""
        watch = self._watches.get(agent_id)
        if watch is None or watch.key_hash != key_hash:
            heads = await self.run(lambda: feed.heads([agent_id]))
            head = heads.get(agent_id, feed.Head(agent_id, 0, ""))
            watch = self._watches.setdefault(agent_id, Watch(head.position))
            self._note(agent_id, head)
        watch.users += 1
        self.attended.set()
        return watch

    def leave(self, watch: Watch) -> None:
        """The watch stays a while: whoever polls comes back at once."""
        watch.users -= 1
        watch.left_at = time.monotonic()

    def ring(self, agent_id: int) -> None:
        """Something happened in this agent's feed."""
        if agent_id in self._watches:
            self._soon(self._rung, agent_id)

    def look(self) -> None:
        """Something may have happened anywhere."""
        self._soon(self._look_now.set)

    def _soon(self, call: Callable[..., None], *arguments: int) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
            self._loop.call_soon_threadsafe(call, *arguments)

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
        """Everybody's turn comes within POLL seconds; a part of them at a time."""
        left: list[int] = []
        looked = 0.0  # seconds that looking took
        while True:
            await self._pause(POLL * AT_ONCE / max(len(self._watches), AT_ONCE) - looked)
            began = time.monotonic()
            left = left or list(self._watches)
            look = self._loop.create_task(self._look_at(self._still_wanted(left[:AT_ONCE])))
            await asyncio.wait({look})
            if error := look.exception():
                log.error("looking at the feeds met what nobody foresaw; it goes on", exc_info=error)
            left = left[AT_ONCE:]
            looked = time.monotonic() - began

    def _still_wanted(self, agent_ids: list[int]) -> list[int]:
        """Without those for whom nobody has come back, which are forgotten."""
        gone = [agent_id for agent_id in agent_ids if self._watches[agent_id].abandoned(LINGER)]
        for agent_id in gone:
            self._index(self._watches.pop(agent_id).key_hash, "", agent_id)
        if not self._watches:
            self.attended.clear()
        return [agent_id for agent_id in agent_ids if agent_id in self._watches]

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._look_now.wait()
        self._look_now.clear()

    async def _look_at(self, agent_ids: list[int]) -> None:
        if not agent_ids:
            return
        with contextlib.suppress(DatabaseError):
            heads = await self.run(lambda: feed.heads(agent_ids))
            for agent_id in agent_ids:
                self._note(agent_id, heads.get(agent_id, feed.Head(agent_id, 0, "")))

    def _note(self, agent_id: int, head: feed.Head) -> None:
        watch = self._watches.get(agent_id)
        if watch:
            self._index(watch.key_hash, head.key_hash, agent_id)
            watch.now_known_as(head.key_hash)
            if head.position > watch.position:
                self._rung(agent_id)

    def _index(self, former: str, key_hash: str, agent_id: int) -> None:
        if former != key_hash and self._by_key.get(former) == agent_id:
            del self._by_key[former]
        if key_hash:
            self._by_key[key_hash] = agent_id

    async def close(self) -> None:
        self._poller.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)


class Attendance:
    """Somebody is there for an agent's events, for the time of a block."""

    __slots__ = ("_asker", "_hub", "_watch")

    def __init__(self, hub: Hub, asker: Asker) -> None:
        self._hub, self._asker = hub, asker

    async def __aenter__(self) -> Watch:
        self._watch = await self._hub.enter(self._asker.agent_id, self._asker.key_hash)
        return self._watch

    async def __aexit__(self, *_: object) -> None:
        self._hub.leave(self._watch)


def _resilient(call: Callable[[], T]) -> T:
    """Once more where an open connection turns out to be broken: cheaper than asking before every call."""
    was_open = connection.connection is not None
    try:
        return call()
    except (InterfaceError, OperationalError):
        if not was_open or connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        return call()
