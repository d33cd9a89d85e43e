"""Collecting garbage in a process that holds ten thousand waiting requests.

A full collection walks through everything that lives while everybody waits for it: half a second with ten thousand
waiters. It finds next to nothing, since a request that is over is freed by counting references. So what the start has
loaded is set aside, small collections are larger and rarer, and the full one comes when we say so.
"""

from __future__ import annotations

import asyncio
import gc

EVERY = 600.0  # seconds between full collections
# New objects before the youngest are looked through; how many such looks before the next older ones are. Then: never.
YOUNG, MIDDLE, OLD = 5_000, 10, 1_000_000


def set_aside() -> None:
    """Call it once, when everything is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


async def collect_now_and_then() -> None:
    while True:
        await asyncio.sleep(EVERY)
        gc.collect()
