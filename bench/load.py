"""The load client: a closed loop of callers on raw sockets, so that it takes as little of the machine as it can."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import Counter
from functools import partial
from typing import Any, cast

import uvloop

from bench.rounds import percentile
from bench.talk import serve


class Run:
    """One measurement: when it ends, and what its callers saw.

    ``most`` limits the requests of each caller; ``every`` is how many seconds lie between them at least.
    """

    def __init__(self, seconds: float, most: int | None, every: float, keep: bool) -> None:
        self.end = time.perf_counter() + seconds
        self.most, self.every, self.keep = most, every, keep
        self.number = 0
        self.times: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.bodies: set[str] = set()

    def take(self, began: float, reply: bytes, body: int) -> None:
        self.times.append(time.perf_counter() - began)
        self.statuses[int(reply[9:12])] += 1
        if self.keep:
            self.bodies.add(reply[body:].decode())


class Caller(asyncio.Protocol):
    """Sends a request as soon as the answer to the one before is complete. ``template`` has a %d for its number."""

    def __init__(self, run: Run, template: bytes) -> None:
        self.run, self.template = run, template
        self.sent = 0
        self.buffer = b""
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def ask_at(self, moment: float) -> None:
        wait = moment - time.perf_counter()
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self.ask)
        else:
            self.ask()

    def ask(self) -> None:
        if time.perf_counter() >= self.run.end or self.sent == self.run.most:
            self.transport.close()
            return
        self.run.number += 1
        self.sent += 1
        self.began = time.perf_counter()
        self.transport.write(self.template % self.run.number if b"%" in self.template else self.template)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        body = self.buffer.find(b"\r\n\r\n") + 4
        if body < 4:
            return
        at = self.buffer.lower().find(b"content-length:", 0, body)
        length = int(self.buffer[at + 15 : self.buffer.find(b"\r", at)]) if at >= 0 else 0
        if len(self.buffer) >= body + length:
            reply, self.buffer = self.buffer, b""
            self.run.take(self.began, reply, body)
            self.ask_at(self.began + self.run.every)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)


def load(ports: list[int], templates: list[str], callers: int, **how: Any) -> dict[str, Any]:
    """``callers`` callers for ``seconds`` seconds, spread over ports and templates. Times in milliseconds."""
    return dict(uvloop.run(_load(ports, templates, callers, **how)))


async def _load(
    ports: list[int],
    templates: list[str],
    callers: int,
    seconds: float,
    most: int | None = None,
    every: float = 0.0,
    keep: bool = False,
) -> dict[str, Any]:
    loop, run = asyncio.get_running_loop(), Run(seconds, most, every, keep)
    made = []
    for n in range(callers):
        make = partial(Caller, run, templates[n % len(templates)].encode())
        made.append((await loop.create_connection(make, "127.0.0.1", ports[n % len(ports)]))[1])
    used, began = _used(), time.perf_counter()
    run.end = began + seconds
    for n, caller in enumerate(made):
        caller.ask_at(began + n / callers * every)
    await asyncio.gather(*(caller.over for caller in made))
    took = time.perf_counter() - began
    return {
        "rps": len(run.times) / took,
        "p50": percentile(run.times, 0.5) * 1000,
        "p99": percentile(run.times, 0.99) * 1000,
        "count": len(run.times),
        "cpu": _used() - used,
        "statuses": {str(status): count for status, count in run.statuses.items()},
        "bodies": sorted(run.bodies),
    }


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    serve(load=load)
