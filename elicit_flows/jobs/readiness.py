"""Whether this process can do its work, for /readyz, the metrics and the incidents.

Checks run in a thread of their own, so that the caller waits at most WAIT seconds, however slow the database is. A
result counts for FRESH seconds, and for STALE seconds while the next check has not ended. See docs/how-to/monitor.md.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from django.conf import settings
from django.db import DatabaseError, connection, connections, transaction

from elicit_flows.job_table import BY_NAME
from elicit_flows.lib import clock, health, ids, schema_version, shared_redis
from elicit_flows.models import Health, Tally
from elicit_flows.models.counters import EVER

FRESH, WAIT, STALE = 2.0, 0.8, 10.0  # seconds
STATEMENT = 3000  # milliseconds: time limit for one statement of a check
BUSY = 300  # milliseconds that a check waits for SQLite's writer
FILLER = 500  # so many rows that they need new pages on disk; one row may fit into an existing page

WRITABLE, FULL_UP, READ_ONLY, AWAY = "writable", "no connection left", "not writable", "does not answer"
CURRENT, OTHER = "current", "not this version's"
ANSWERS, NOT_USED = "answers", "not used"
RUNS, WORKER_LATE, NEVER = "runs", "late", "has not run yet"
_WELL = {WRITABLE, CURRENT, ANSWERS, NOT_USED, RUNS}
T = TypeVar("T")

# Set after a failed statement: the next check writes many rows, because a full disk may still take one.
_suspected = threading.Event()


def suspect() -> None:
    """A request met a database error: the next check starts at once and writes more."""
    _suspected.set()
    _database.age()


@dataclass(frozen=True, slots=True)
class Database:
    state: str
    schema: str = CURRENT
    worker: str = RUNS
    seconds: float = 0.0


@dataclass(slots=True)
class CachedCheck(Generic[T]):
    """A check that runs when its result is asked for. ``unknown`` is its result if it does not end."""

    check: Callable[[], T]
    unknown: T
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seen: tuple[float, T] | None = None
    _began: float = 0.0
    _running: Future[T] | None = None

    def start(self) -> None:
        """Start the check if the last result is no longer fresh. Returns at once."""
        with self._lock:
            now = time.monotonic()
            if self._seen and now < self._seen[0] + FRESH:
                return
            if self._running and not self._running.done() and now < self._began + STALE:
                return
            self._began, self._running = now, Future()
            # A thread for each check: one that hangs must neither block the next one nor keep the process from exiting.
            threading.Thread(target=self._run, args=(self._running,), name="check", daemon=True).start()

    def _run(self, found: Future[T]) -> None:
        seen = self.unknown
        try:
            seen = self.check()
        finally:
            with self._lock:
                self._seen = time.monotonic(), seen
            found.set_result(seen)

    def result(self, seconds: float) -> T:
        """The result of the check. Waits at most ``seconds`` for it."""
        seen, running = self._seen, self._running
        if seen and time.monotonic() < seen[0] + FRESH:
            return seen[1]
        try:
            return running.result(max(0.0, seconds)) if running else self.unknown
        except TimeoutError:
            return seen[1] if seen and time.monotonic() < seen[0] + STALE else self.unknown

    def age(self) -> None:
        """Treat the last result as no longer fresh."""
        with self._lock:
            if self._seen:
                self._seen = self._seen[0] - FRESH, self._seen[1]

    def forget(self) -> None:
        with self._lock:
            self._seen = self._running = None


@dataclass(frozen=True, slots=True)
class State:
    database: str
    schema: str
    redis: str
    worker: str
    seconds: float  # that the database took

    @property
    def ready(self) -> bool:
        """Whether requests should be sent to this process.

        A late worker or a missing Redis does not matter here: it is the same for every process. Nor does a database
        that takes no new connections, because the open ones still work.
        """
        return self.database in {WRITABLE, FULL_UP} and self.schema == CURRENT

    def parts(self) -> dict[str, str]:
        return {"database": self.database, "schema": self.schema, "redis": self.redis, "worker": self.worker}

    def well(self) -> dict[str, bool]:
        """Whether each part works. Parts that are not used are left out, and so are those that cannot be checked
        without the database.
        """
        unknown = {"schema", "worker"} if self.database in {AWAY, FULL_UP} else set()
        return {
            of: said in _WELL for of, said in self.parts().items() if said != NOT_USED and of not in unknown
        }  # fmt: skip


def state() -> State:
    """The state of this process. Waits at most WAIT seconds."""
    end = time.monotonic() + WAIT
    _database.start()
    if settings.REDIS_URL:
        _redis.start()
    database = _database.result(end - time.monotonic())
    redis = _redis.result(end - time.monotonic()) if settings.REDIS_URL else NOT_USED
    found = State(database.state, database.schema, redis, database.worker, database.seconds)
    for of, well in found.well().items():
        if well:
            _bad_since.pop(of, None)
        else:
            _bad_since.setdefault(of, clock.now())
    return found


_bad_since: dict[str, datetime] = {}
_missed_since: dict[str, datetime] = {}  # the jobs that have never run: since when this process has known


def bad_since(of: str) -> datetime | None:
    """Since when this process has known that this part does not work."""
    return _bad_since.get(of)


def forget() -> None:
    """For tests: forget all results."""
    _bad_since.clear()
    _missed_since.clear()
    _suspected.clear()
    for one in (_database, _redis):
        one.forget()


def _check_database() -> Database:
    began, schema, worker = time.monotonic(), CURRENT, RUNS
    try:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {BUSY}")
        # On SQLite a transaction would wait for whoever writes. Reading alone does not.
        with nullcontext() if connection.vendor == "sqlite" else limited():
            schema = CURRENT if schema_version.is_current() else OTHER
            ran = last_runs()
        worker = (WORKER_LATE if late_jobs(ran) else RUNS) if ran else NEVER
        _write()
        said = WRITABLE
    except DatabaseError as error:
        said = _meaning(error)
    finally:
        connections.close_all()  # of this thread
    return Database(said, schema, worker, time.monotonic() - began)


@contextmanager
def limited() -> Iterator[None]:
    """A transaction, whose statements have the time limit of a check. It ends with the transaction: PgBouncer may give
    the connection to others then.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {STATEMENT}")
        yield


def _meaning(error: DatabaseError) -> str:
    text, code = str(error), getattr(error.__cause__, "sqlstate", None) or ""
    if text.startswith("database is locked"):  # SQLite: another process is writing
        return WRITABLE
    if code == "53300" or "connection slots are reserved" in text or "too many clients" in text:
        return FULL_UP
    reached = connection.vendor == "sqlite" or bool(code)
    return READ_ONLY if reached and not text.startswith("unable to open") else AWAY


def _write() -> None:
    """Write one row and roll it back. After a failure, commit rows that need new disk space, and delete them."""
    if not _suspected.is_set():
        with limited():
            Tally.objects.create(hour=EVER, name="check", labels=ids.name("look"))
            transaction.set_rollback(True)
        return
    mark = ids.name("look")
    rows = [Tally(hour=EVER, name="check", labels=f"{mark} {number} {'.' * 150}") for number in range(FILLER)]
    try:
        with limited():
            Tally.objects.bulk_create(rows)
    finally:
        with limited():
            Tally.objects.filter(name="check", labels__startswith=mark).delete()
    _suspected.clear()


def last_runs() -> dict[str, datetime]:
    """When a worker last ran each job, by its name. Without those that never ran."""
    rows = Health.objects.filter(sort=health.JOB, name__in=BY_NAME, ok_at__isnull=False).values_list("name", "ok_at")
    return {name: at for name, at in rows if at}


def late_jobs(ran: dict[str, datetime]) -> dict[str, datetime]:
    """The jobs that should have run since, and when they last did.

    One that never ran is late when this process has missed it for as long: a new installation has a moment to begin,
    and jobs that no worker was told to do are named.
    """
    now = clock.now()
    last = {name: ran.get(name) or _missed_since.setdefault(name, now) for name in BY_NAME}
    return {name: at for name, at in last.items() if at < now - BY_NAME[name].late_after}


def _check_redis() -> str:
    try:
        shared_redis.client().ping()
    except shared_redis.errors():
        return AWAY
    return ANSWERS


_database = CachedCheck(_check_database, Database(AWAY))
_redis = CachedCheck(_check_redis, AWAY)
