"""Calls to payment accounts and providers for rows that are due: a few batches at once for each, each with a
database connection.

A batch is a few rows, handled one after the other. Another starts as soon as one has ended. So no row and no
party waits for the slowest of the others, and a worker that is told to stop waits for one row of each batch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Hashable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import DatabaseError, connections
from django.db.models import Model

from elicit_flows.job_table import Job
from elicit_flows.lib.call_window import CallWindow

log = logging.getLogger(__name__)
BATCH = 5  # rows: with more, a call that hangs delays them; with fewer, more connections are opened


@dataclass(frozen=True, slots=True)
class Work:
    """``parties``: returns the parties that have due rows, without those that it is given. ``due``: the rows of one
    party, at most the given number. ``do``: handles a row; if it returns False, nothing was done, and the batch
    ends.
    """

    parties: Callable[[Collection[Any]], Iterable[Any]]
    due: Callable[[Any, int], Iterable[Any]]
    do: Callable[[Any], bool]


class JobWindow(CallWindow[tuple[int, Hashable]]):
    def __init__(self, job: Job, *works: Work) -> None:
        super().__init__(job.name, job.limit, job.per_party)
        self._works, self._job = works, job
        self._taken: set[tuple[type[Model], object]] = set()
        self._ending = threading.Event()

    def begin_due(self) -> int:
        begun = 0
        for number, work in enumerate(self._works):
            for party in work.parties([party for kind, party in self.full if kind == number]):
                begun += self._begin((number, party), work)
        return begun

    def _begin(self, key: tuple[int, Hashable], work: Work) -> int:
        """Start batches of the due rows of one party, as far as there is room. Returns for how many rows."""
        due = work.due(key[1], 2 * BATCH * self._job.per_party)  # half of them may be taken
        rows = [row for row in due if _name(row) not in self._taken]
        few, begun = min(BATCH, -(-len(rows) // self._job.per_party)), 0
        while rows and self.has_room(key):
            some, rows = rows[:few], rows[few:]
            self._taken.update(map(_name, some))
            self.start(key, partial(self._handle, work.do, some), partial(self._end, some))
            begun += len(some)
        return begun

    def _handle(self, do: Callable[[Any], bool], rows: list[Any]) -> None:
        try:
            for row in rows:
                if self._ending.is_set() or not do(row):
                    return
        finally:
            connections.close_all()

    def _end(self, rows: list[Any], done: Future[None]) -> None:
        """Log the error. The next round tries again."""
        self._taken.difference_update(map(_name, rows))
        error = done.exception()
        if isinstance(error, DatabaseError):
            log.warning("a job cannot reach the database; it tries again: %s", error)
        elif error:
            log.error("a job failed unexpectedly; the due rows are tried again", exc_info=error)

    def close(self) -> None:
        self._ending.set()
        super().close()


def _name(row: Model) -> tuple[type[Model], object]:
    return type(row), row.pk
