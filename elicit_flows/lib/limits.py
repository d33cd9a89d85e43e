"""Counting against abuse: fixed windows in the cache, in this process alone when the cache is away."""

from __future__ import annotations

import threading
import time

from django.core.cache import cache
from redis.exceptions import RedisError

_local: dict[str, int] = {}
_lock = threading.Lock()
_MAX_LOCAL = 10_000


def hit(name: str, limit: int, seconds: int) -> bool:
    """Count one more of ``name`` in the present window of ``seconds``; False when there were ``limit`` before it.

    Losing the cache never opens the gate: the count goes on in this process.
    """
    window = int(time.time() // seconds)
    key = f"limit:{name}:{window}"
    try:
        cache.add(key, 0, timeout=seconds * 2)
        return int(cache.incr(key)) <= limit
    except (RedisError, OSError, ValueError):
        return _hit_local(key) <= limit


def _hit_local(key: str) -> int:
    with _lock:
        if len(_local) > _MAX_LOCAL:
            _local.clear()
        _local[key] = _local.get(key, 0) + 1
        return _local[key]
