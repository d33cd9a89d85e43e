"""Waiting agents: thousands of long-polls or event streams, held by one process that does nothing else."""

from __future__ import annotations

import asyncio
import random
import re
import threading
import time
from collections import Counter
from typing import Any, cast

import uvloop

from bench.talk import serve

AT_ONCE = 100  # connections being made
LONGEST = 50  # seconds of a poll
TIMEOUT = 60.0  # seconds for one of them
_SEQ = re.compile(rb'"seq":(\d+)')
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_RETRY = re.compile(rb"retry-after: *([^\r]+)", re.IGNORECASE)


class Waiter(asyncio.Protocol):
    """One agent that waits. ``ready`` comes true with the status of the first answer."""

    def __init__(self, number: int, head: bytes, elicitation: str | None) -> None:
        self.number, self.head, self.elicitation = number, head, elicitation
        self.ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.retry_after = ""
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._ask(0)

    def _ask(self, after_seq: int, wait: int = LONGEST) -> None:
        poll = f"/v1/elicitations/{self.elicitation}?wait={wait}&after_seq={after_seq}"
        self.transport.write(b"GET " + (poll.encode() if self.elicitation else b"/v1/events") + self.head)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self.buffer += data
        if not self.ready.done():
            self._first()
        elif self.elicitation:
            self._answered(now)
        elif self.buffer.endswith(b"\r\n"):
            self._streamed(now)

    def _first(self) -> None:
        """A stream says 200 at once; so does a poll that asks for what is there already, and then waits for more."""
        if not self._complete():
            return
        status = int(self.buffer[9:12])
        retry = _RETRY.search(self.buffer)
        self.retry_after = retry[1].decode() if retry else ""
        self.ready.set_result(status)
        if status != 200:
            self.transport.close()
        elif self.elicitation:
            self._answered(None)
        self.buffer = b""

    def _complete(self) -> bool:
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        return bool(end) and len(body) >= int(length[1] if length else 0)

    def _answered(self, now: int | None) -> None:
        if self._complete():
            found = _SEQ.search(self.buffer)
            self.buffer = b""
            seq = int(found[1]) if found else 0
            if now:
                CROWD.heard.append((self.number, seq, now))
            # The first wait is of any length, so that from then on as many come back in one second as in another.
            self._ask(seq, LONGEST if now else random.randint(1, LONGEST))

    def _streamed(self, now: int) -> None:
        CROWD.heard.extend((self.number, int(seq), now) for seq in dict.fromkeys(_SEQ.findall(self.buffer)))
        self.buffer = b""

    def connection_lost(self, exc: Exception | None) -> None:
        CROWD.lost += 1
        if not self.ready.done():
            self.ready.set_result(0)


class Crowd:
    """Everybody who waits, on an event loop of their own."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int, int]] = []
        self.lost = 0
        self.waiters: list[Waiter] = []
        self.loop = uvloop.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def join(self, port: int, numbers: list[int], key: str, elicitations: list[str]) -> dict[str, Any]:
        gate, began = asyncio.Semaphore(AT_ONCE), time.monotonic()
        made = await asyncio.gather(*(self._one(gate, port, number, key, elicitations) for number in numbers))
        self.waiters += [waiter for waiter in made if waiter.ready.result() == 200]
        statuses = Counter(str(waiter.ready.result()) for waiter in made)
        retry = {waiter.retry_after for waiter in made if waiter.ready.result() != 200}
        return {"statuses": statuses, "retry_after": sorted(retry), "seconds": time.monotonic() - began}

    async def _one(self, gate: asyncio.Semaphore, port: int, number: int, key: str, elicitations: list[str]) -> Waiter:
        accept = "accept: application/json" if elicitations else "accept: text/event-stream"
        head = f" HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key % number}\r\n{accept}\r\n\r\n".encode()
        async with gate:
            waiter = Waiter(number, head, elicitations[number] if elicitations else None)
            await self.loop.create_connection(lambda: waiter, "127.0.0.1", port)
            await asyncio.wait_for(asyncio.shield(waiter.ready), TIMEOUT)
        return waiter

    async def leave(self) -> int:
        for waiter in self.waiters:
            waiter.transport.abort()
        gone, self.waiters = len(self.waiters), []
        await asyncio.sleep(0.2)
        return gone

    async def hear(self) -> list[tuple[int, int, int]]:
        heard, self.heard = self.heard, []
        return heard


CROWD = Crowd()


def join(port: int, numbers: list[int], key: str, elicitations: list[str]) -> dict[str, Any]:
    """Begin to wait as each of ``numbers``: for their elicitation, or, where there are none, for all events."""
    return dict(CROWD.run(CROWD.join(port, numbers, key, elicitations)))


def leave() -> int:
    """Hang up; how many waited."""
    return int(CROWD.run(CROWD.leave()))


def hear() -> list[tuple[int, int, int]]:
    """(number, seq, nanoseconds of the monotonic clock) of everything told since the last call."""
    return list(CROWD.run(CROWD.hear()))


if __name__ == "__main__":
    serve(join=join, leave=leave, hear=hear, lost=lambda: CROWD.lost)
