"""Limits how many requests may wait. Beyond the limit the answer is 503, rather than a connection that hangs."""

from __future__ import annotations

from collections import Counter

from elicit_flows.domain.errors import TooMany, Unavailable

RETRY_AFTER = 5


class Admission:
    """Counts the waiting requests of one process: at most ``limit`` in all, and ``per_agent`` for each agent."""

    def __init__(self, limit: int, per_agent: int) -> None:
        self.limit, self.per_agent = limit, per_agent
        self.waiting = 0
        self._by_agent: Counter[int] = Counter()

    def admit(self, agent_id: int) -> Admitted:
        """Return a context manager that counts one more waiting request.

        Raises Unavailable if the process is full, TooMany if this agent has used up its share.
        """
        if self.waiting >= self.limit:
            raise Unavailable(f"This process admits {self.limit} waiting requests.", retry_after=RETRY_AFTER)
        if self._by_agent[agent_id] >= self.per_agent:
            raise TooMany(f"One agent may have {self.per_agent} waiting requests.", retry_after=RETRY_AFTER)
        return Admitted(self, agent_id)

    def count(self, agent_id: int, change: int) -> None:
        self.waiting += change
        self._by_agent[agent_id] += change
        if not self._by_agent[agent_id]:
            del self._by_agent[agent_id]


class Admitted:
    """Counts a waiting request within the block."""

    __slots__ = ("_admission", "_agent_id")

    def __init__(self, admission: Admission, agent_id: int) -> None:
        self._admission, self._agent_id = admission, agent_id

    def __enter__(self) -> None:
        self._admission.count(self._agent_id, 1)

    def __exit__(self, *_: object) -> None:
        self._admission.count(self._agent_id, -1)
