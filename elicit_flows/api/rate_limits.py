"""Limits for each agent: requests per minute, and concurrent requests. Counted in this process."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from elicit_flows.api import auth
from elicit_flows.domain.errors import TooMany
from elicit_flows.lib.wsgi_bridge import Message, Send

MINUTE = 60.0
RETRY_IN_FLIGHT = 1  # seconds

# Replaced by tests that move the time.
monotonic = time.monotonic


class RateLimitState(NamedTuple):
    """What is left of this minute after one more request. ``reset``: whole seconds until the next minute."""

    limit: int
    remaining: int
    reset: int
    refused: bool


class RateLimits:
    """An agent's minute begins with its first request. ``in_flight``: the most concurrent requests of one agent."""

    def __init__(self, in_flight: int) -> None:
        self._in_flight = in_flight
        self._windows: dict[int, tuple[float, int]] = {}
        self._now: Counter[int] = Counter()

    def counted(self, key_hash: str, send: Send) -> Counted:
        """Count a request with this key, and return ``send`` for its answer."""
        return Counted(self, key_hash, send)

    def take(self, agent_id: int, per_minute: int) -> RateLimitState:
        """Count a request of this agent."""
        now = monotonic()
        ends, used = self._windows.get(agent_id, (0.0, 0))
        if ends <= now:
            ends, used = now + MINUTE, 0
        refused = used >= per_minute
        used += not refused
        self._windows[agent_id] = (ends, used)
        # now + 60 - now can be a little more than 60
        reset = math.ceil(min(ends - now, MINUTE))
        return RateLimitState(per_minute, max(0, per_minute - used), reset, refused)

    @contextmanager
    def in_flight(self, agent_id: int) -> Iterator[None]:
        """Within the block, the request counts as concurrent. Raises TooMany."""
        if self._now[agent_id] >= self._in_flight:
            detail = f"One agent may have {self._in_flight} concurrent requests, not counting those that wait."
            raise TooMany(detail, retry_after=RETRY_IN_FLIGHT)
        self._now[agent_id] += 1
        try:
            yield
        finally:
            self._now[agent_id] -= 1
            if not self._now[agent_id]:
                del self._now[agent_id]


class Counted:
    """Sends an answer with the rate limit headers.

    The key's agent may become known only with the answer; then the request is counted and not refused.
    """

    __slots__ = ("_limits", "_send", "_standing", "agent_id", "key_hash")

    def __init__(self, limits: RateLimits, key_hash: str, send: Send) -> None:
        self._limits, self.key_hash, self._send = limits, key_hash, send
        self.agent_id: int | None = None
        self._standing = self._take()

    def check(self) -> None:
        """Raises TooMany."""
        if self._standing and self._standing.refused:
            detail = f"One agent may send {self._standing.limit} requests a minute."
            raise TooMany(detail, retry_after=self._standing.reset)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._standing = self._standing or self._take()
            if self._standing:
                limit, remaining, reset, _ = self._standing
                self._standing = None  # the answer may go on for hours
                headers = [
                    *message["headers"],
                    (b"ratelimit-limit", b"%d" % limit),
                    (b"ratelimit-remaining", b"%d" % remaining),
                    (b"ratelimit-reset", b"%d" % reset),
                ]
                message = {**message, "headers": headers}
        await self._send(message)

    def _take(self) -> RateLimitState | None:
        known = auth.known.get(self.key_hash)
        if known is None:
            return None
        self.agent_id = known.agent_id
        return self._limits.take(known.agent_id, known.per_minute)
