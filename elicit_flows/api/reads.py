"""What agents ask for all the time, read in batches for all who ask at the same time.

An answer is found here if one row is all that it takes, and the functions of the views make it from that row. For
everything else nothing is found, and whoever asked goes the longer way, which has all the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from django.db import InterfaceError, OperationalError, connection

from elicit_flows import vault
from elicit_flows.api import auth, owned_rows, responses
from elicit_flows.domain.status import TERMINAL, Status
from elicit_flows.domain.values import Json
from elicit_flows.elicitations.transitions import STEPS
from elicit_flows.events import feed
from elicit_flows.lib import clock
from elicit_flows.lib.batch_loader import BatchLoader
from elicit_flows.lib.thread_pools import ThreadPool
from elicit_flows.models import Agent, Elicitation

Q = TypeVar("Q")
A = TypeVar("A")
Named = tuple[int, str]  # the agent who asks, and the id of what it asks for
KINDS = 6  # of what is read and written: one group of each at a time


class ElicitationState(NamedTuple):
    """A serialised elicitation (a quarter of the row's memory), and the fields that a wait depends on."""

    seq: int
    status: str
    expires_at: datetime
    body: bytes

    @classmethod
    def of(cls, row: Elicitation) -> ElicitationState:
        return cls(row.seq, row.status, row.expires_at, responses.dumps(row.snapshot()))

    def followed_by(self, news: Json) -> ElicitationState:
        return ElicitationState(news["seq"], news["status"], self.expires_at, responses.dumps(news))

    @property
    def over(self) -> bool:
        return self.status in TERMINAL

    def time_left(self) -> float:
        """Seconds until it expires; infinite while it is settling."""
        if self.status == Status.SETTLING:
            return math.inf
        return (self.expires_at - clock.now()).total_seconds()


class Reads:
    """``pool`` needs KINDS threads. Use it from one event loop only.

    ``agents``: by the hash of an API key. ``heads``: of feeds, by the agent. ``elicitations`` and ``tokens``: what the
    API answers. ``api_access``: what the calls of providers' APIs need. ``run`` does something else in a thread.
    """

    def __init__(self, pool: ThreadPool) -> None:
        def loader(kind: str, answer: Callable[[list[Q]], dict[Q, A]]) -> BatchLoader[Q, A]:
            return BatchLoader(lambda call: pool.run(kind, partial(resilient, call)), answer)

        self.run = pool.run
        self.agents: BatchLoader[str, Agent] = loader("agents", auth.look_up)
        self.heads: BatchLoader[int, feed.Head] = loader("heads", feed.heads)
        self.elicitations: BatchLoader[Named, ElicitationState] = loader("elicitations", _elicitations)
        self.tokens: BatchLoader[Named, bytes] = loader(
            "tokens",
            lambda asked: {named: responses.dumps(body) for named, body in vault.fresh_tokens(set(asked)).items()},
        )
        self.api_access: BatchLoader[Named, vault.ApiAccess] = loader(
            "api access", lambda asked: vault.ready_access(set(asked))
        )

    async def agent(self, key_hash: str) -> Agent | None:
        """The agent with this key, if there is one."""
        return auth.remembered.get(key_hash) or await self.agents.load(key_hash)


def resilient(call: Callable[[], A]) -> A:
    """Make a call to the database, and make it again if an open connection turns out to be broken.

    That is cheaper than to check the connection first. For threads that answer no request: Django does not look after
    their connections.
    """
    was_open = connection.connection is not None
    try:
        return call()
    except (InterfaceError, OperationalError):
        if not was_open or connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        return call()


def _elicitations(asked: list[Named]) -> dict[Named, ElicitationState]:
    """Without those that have expired, which has to be recorded, and those whose steps may have."""
    rows = owned_rows.own_elicitations(set(asked))
    return {(row.agent_id, row.pk): ElicitationState.of(row) for row in rows if row.kind != STEPS and not row.overdue}
