"""Garbage collection in a process that holds ten thousand waiting requests.

A full collection visits every object while everything waits for it: half a second with ten thousand waiters. It finds
almost nothing, because a finished request is freed by reference counting. So the objects loaded at start are excluded,
small collections are larger and rarer, and full collections run on a timer.
"""

from __future__ import annotations

import asyncio
import gc

EVERY = 600.0  # seconds between full collections
# Thresholds of the three generations; with the last one, Python never starts a full collection by itself.
YOUNG, MIDDLE, OLD = 5_000, 10, 1_000_000


def freeze() -> None:
    """Exclude all current objects from collection. Call it once, when everything is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


async def collect_periodically() -> None:
    while True:
        await asyncio.sleep(EVERY)
        gc.collect()
