"""How many may wait. Beyond it a clear answer, instead of a connection that hangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from elicit_flows.errors import TooMany, Unavailable

RETRY_AFTER = 5


class Admission:
    """Counts the waiting requests of one process; ``limit`` in all, ``per_agent`` for each agent."""

    def __init__(self, limit: int, per_agent: int) -> None:
        self.limit, self.per_agent = limit, per_agent
        self.waiting = 0
        self._by_agent: Counter[int] = Counter()

    @contextmanager
    def admit(self, agent_id: int) -> Iterator[None]:
        """Raises Unavailable when the process is full, TooMany when this agent has its share."""
        if self.waiting >= self.limit:
            raise Unavailable(f"This process admits {self.limit} waiting requests.", retry_after=RETRY_AFTER)
        if self._by_agent[agent_id] >= self.per_agent:
            raise TooMany(f"One agent may have {self.per_agent} waiting requests.", retry_after=RETRY_AFTER)
        self.waiting += 1
        self._by_agent[agent_id] += 1
        try:
            yield
        finally:
            self.waiting -= 1
            self._by_agent[agent_id] -= 1
            if not self._by_agent[agent_id]:
                del self._by_agent[agent_id]
