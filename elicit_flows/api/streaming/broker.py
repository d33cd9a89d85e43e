"""Reads the feeds on behalf of all waiting requests of a process.

A wake-up makes it read the new events of the feeds that somebody waits for, once, and pass them to those who wait. It
also polls every second: the database is the source of truth, and wake-ups only make it faster.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from django.db import DatabaseError

from elicit_flows.api.auth import REMEMBER
from elicit_flows.api.reads import Reads, resilient
from elicit_flows.api.streaming.subscriptions import Watch
from elicit_flows.events import feed
from elicit_flows.lib.thread_pools import mark

log = logging.getLogger(__name__)
T = TypeVar("T")
THREADS = 4
BATCH = 500
POLL = 0.9  # seconds within which every watched feed is polled once
AT_ONCE = 500  # feeds polled at once; more would delay the delivery of events
LINGER = 5.0  # seconds for which a feed is watched after its last waiter has left


class Asker(NamedTuple):
    """All that is stored about an agent while its request waits."""

    agent_id: int
    key_hash: str


class Broker:
    """Belongs to one event loop. ``ring`` and ``look`` may be called from any thread."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="wait", initializer=mark, initargs=(False,))
        self._watches: dict[int, Watch] = {}
        self._look_now = asyncio.Event()
        self._by_key: dict[str, int] = {}
        self._poller = self._loop.create_task(self._poll())
        # Set while any feed is watched; otherwise the wake-up listener may rest.
        self.attended = threading.Event()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a database call in one of the few threads here. It may be run twice, so it must be safe to repeat."""
        return await self._loop.run_in_executor(self._pool, resilient, call)

    def knows(self, key_hash: str) -> Asker | None:
        """The agent with this key, if the last poll of its watched feed has just confirmed the key. Needs no
        database.
        """
        agent_id = self._by_key.get(key_hash)
        if agent_id is None or time.monotonic() - self._watches[agent_id].seen_at > REMEMBER:
            return None
        return Asker(agent_id, key_hash)

    def watching(self, asker: Asker) -> Attendance:
        """An async context manager: the agent's watch, kept up to date within the block."""
        return Attendance(self, asker)

    async def enter(self, agent_id: int, key_hash: str) -> Watch:
        """The agent's watch, for a request with this key. A watch with another key is polled again."""
        watch = self._watches.get(agent_id)
        if watch is None or watch.key_hash != key_hash:
            head = await self.reads.heads.load(agent_id)
            if head is None:
                head = await self.run(partial(feed.head, agent_id))
            watch = self._watches.setdefault(agent_id, Watch(head.position))
            self._note(agent_id, head)
        watch.users += 1
        self.attended.set()
        return watch

    def leave(self, watch: Watch) -> None:
        """The watch stays for a while, because a client that polls comes back at once."""
        watch.users -= 1
        watch.left_at = time.monotonic()

    def ring(self, agent_id: int) -> None:
        """There are new events in this agent's feed."""
        if agent_id in self._watches:
            self._soon(self._rung, agent_id)

    def look(self) -> None:
        """There may be new events in any feed."""
        self._soon(self._look_now.set)

    def _soon(self, call: Callable[..., None], *arguments: int) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed, so nobody waits
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
            return  # the next poll tries again
        finally:
            watch.reading = None

    async def _poll(self) -> None:
        """Poll all feeds within POLL seconds, a part of them at a time."""
        left: list[int] = []
        looked = 0.0  # seconds that the last poll took
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL * AT_ONCE / max(len(self._watches), AT_ONCE) - looked):
                    await self._look_now.wait()
            self._look_now.clear()
            began = time.monotonic()
            left = left or list(self._watches)
            # The feeds that are still watched; the others are forgotten.
            agent_ids = left[:AT_ONCE]
            gone = [agent_id for agent_id in agent_ids if self._watches[agent_id].abandoned(LINGER)]
            for agent_id in gone:
                self._index(self._watches.pop(agent_id).key_hash, "", agent_id)
            if not self._watches:
                self.attended.clear()
            look = self._loop.create_task(
                self._look_at([agent_id for agent_id in agent_ids if agent_id in self._watches])
            )
            await asyncio.wait({look})
            if error := look.exception():
                log.error("polling the feeds failed with an unexpected error; it continues", exc_info=error)
            left = left[AT_ONCE:]
            looked = time.monotonic() - began

    async def _look_at(self, agent_ids: list[int]) -> None:
        if not agent_ids:
            return
        with contextlib.suppress(DatabaseError):
            heads = await self.run(lambda: feed.heads(agent_ids))
            for agent_id in agent_ids:
                self._note(agent_id, heads[agent_id])

    def _note(self, agent_id: int, head: feed.Head) -> None:
        watch = self._watches.get(agent_id)
        if watch:
            key_hash = sys.intern(head.key_hash)
            self._index(watch.key_hash, key_hash, agent_id)
            watch.now_known_as(key_hash)
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
    """Watches an agent's feed within the block."""

    __slots__ = ("_asker", "_hub", "_watch")

    def __init__(self, hub: Broker, asker: Asker) -> None:
        self._hub, self._asker = hub, asker

    async def __aenter__(self) -> Watch:
        self._watch = await self._hub.enter(self._asker.agent_id, self._asker.key_hash)
        return self._watch

    async def __aexit__(self, *_: object) -> None:
        self._hub.leave(self._watch)
