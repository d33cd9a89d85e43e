"""A payment provider that keeps the sweep waiting is left alone for a while: what is due elsewhere does not wait.

Each process learns that by itself, and forgets it soon.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

SLOW = 10.0  # seconds that an answer, or none, may take
REST = 20.0  # seconds

_resting: dict[int, float] = {}  # account's key: until when (monotonic)


@contextmanager
def asking(account: int) -> Iterator[None]:
    """Around what the sweep asks for this account."""
    began = time.monotonic()
    try:
        yield
    finally:
        now = time.monotonic()
        if now - began > SLOW:
            _resting[account] = now + REST


def resting() -> list[int]:
    """The accounts to be left alone now."""
    now = time.monotonic()
    for account in [account for account, until in _resting.items() if until <= now]:
        _resting.pop(account, None)
    return list(_resting)
