"""Garbage collection in a process that holds ten thousand waiting requests.

A full collection visits every object while everything waits for it: half a second with ten thousand waiters. It finds
almost nothing, because a finished request is freed by reference counting. So the objects loaded at start are excluded,
small collections are larger and rarer, and full collections run on a timer.

Python begins a small collection when YOUNG more objects were created than deleted. Where one waiting request takes the
place of another, that number hardly rises: by the next small collection all waiters would have been replaced, and it
would visit the objects of all of them, for 60 ms. So one is also made for every few requests that begin to wait.
"""

from __future__ import annotations

import asyncio
import gc

EVERY = 600.0  # seconds between full collections
# Thresholds of the three generations; with the last one, Python never starts a full collection by itself.
YOUNG, MIDDLE, OLD = 5_000, 10, 1_000_000
WAITS = 50  # requests that wait keep about as many objects as YOUNG
_waits = 0  # since the last collection for them


def freeze() -> None:
    """Exclude all current objects from collection. Call it once, when everything is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def begins_to_wait() -> None:
    """Called once for every request that waits."""
    global _waits  # noqa: PLW0603
    _waits += 1
    if _waits >= WAITS:
        _waits = 0
        gc.collect(1)


async def collect_periodically() -> None:
    while True:
        await asyncio.sleep(EVERY)
        gc.collect()
