"""The background jobs: deliveries, expiry, payments, revocations, refreshes, polling, notifications, audit log, purge.

Each job has its own thread, in the server (the embedded worker) or in a Celery worker, where the tasks wake it. So no
job waits for another. A job calls other servers in further threads, so it does not wait for the slowest call. The
database rows say what is due; several workers share them by leases.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Protocol

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections, connections

from elicit_flows import elicitations, job_table, notifications, people, vault
from elicit_flows.domain.errors import FlowError
from elicit_flows.events import wakeups, webhooks
from elicit_flows.job_table import AUDIT, DELIVER, EXPIRE, NOTIFY, PAYMENTS, PURGE, REFRESH, REVOCATIONS, Job
from elicit_flows.jobs import audit_shipping, metrics_store, readiness
from elicit_flows.jobs.job_window import JobWindow, Work
from elicit_flows.jobs.purge import purge_for
from elicit_flows.lib import health
from elicit_flows.models import Delivery

log = logging.getLogger(__name__)

IN_FLIGHT, PER_ENDPOINT = DELIVER.limit, DELIVER.per_party
HANGING = 2.0  # seconds after which a send no longer counts toward IN_FLIGHT; all sends together are at most MOST
MOST = 2 * IN_FLIGHT
# Seconds for which a job that Celery woke keeps its thread and connection: beat wakes it every few seconds.
LINGER = 30.0
POLL = 1.0  # seconds between looks at what is under way
_APART = random.random()  # noqa: S311  from the jobs of other processes
PURGE_FOR = 5.0  # seconds: a worker that is told to stop does so within this time
NOTE_EVERY = 15.0  # seconds between two records that a job has run
STOP_SECONDS = webhooks.DEADLINE + 5.0  # longer than any call of a job to another server


class JobRun(Protocol):
    """The work of a job. ``start_due`` is called until it returns 0, then after a pause or when ``wake`` is set."""

    @property
    def wake(self) -> threading.Event:
        """Set when a call has returned, or when something may be due."""

    def start_due(self) -> int:
        """Start what is due. Returns how many rows that was."""

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""

    def close(self) -> None:
        """Wait for what is under way, and record it."""


class WebhookDeliveries:
    """Sends webhooks: up to IN_FLIGHT at a time, shared fairly between endpoints. Deliveries that hang are counted
    apart.

    An event loop sends. The job's own thread claims, signs and records, and it records everything that was sent
    meanwhile together. So a worker holds one database connection, and waits for the disk once for many deliveries.
    """

    def __init__(self) -> None:
        self._sender = webhooks.Sender(self._came_back)
        self._sent: SimpleQueue[tuple[Delivery, webhooks.Outcome | None]] = SimpleQueue()
        # By a delivery's id and fence: the delivery, and when its send began (monotonic).
        self._in_flight: dict[tuple[str, int], tuple[Delivery, float]] = {}
        self.wake = threading.Event()

    def start_due(self) -> int:
        """Record what was sent, claim what is due and start sending it. Returns how many were started."""
        self._record_sent()
        room = min(IN_FLIGHT - self._quick, MOST - len(self._in_flight))
        claimed: list[Delivery] = []
        if room:
            agents = [delivery.agent for delivery, _ in self._in_flight.values()]
            failing = sum(agent.webhook_failures > 0 for agent in agents) < IN_FLIGHT // 2
            claimed = webhooks.claim(room, Counter(agent.pk for agent in agents), PER_ENDPOINT, failing=failing)
        requests = []
        for delivery in claimed:
            self._in_flight[delivery.pk, delivery.fence] = delivery, time.monotonic()
            try:
                requests.append(webhooks.prepare(delivery, vault.webhook_secrets(delivery.agent)))
            except FlowError as error:
                self._came_back(delivery, webhooks.Outcome(False, None, error.detail, 0))
            except Exception:  # no error of one stops another delivery
                log.exception("a delivery failed unexpectedly; it is repeated when its lease has ended")
                self._came_back(delivery, None)
        self._sender.start(requests)
        return len(claimed)

    @property
    def _quick(self) -> int:
        """How many are in flight, without those that hang."""
        since = time.monotonic() - HANGING
        return sum(began > since for _, began in self._in_flight.values())

    def _came_back(self, delivery: Delivery, outcome: webhooks.Outcome | None) -> None:
        """Called with each delivery when its send has ended in any way, or cannot begin: it is no longer in flight."""
        self._sent.put((delivery, outcome))
        self.wake.set()

    def _record_sent(self) -> None:
        """Record what was sent. If the database is unavailable, it is recorded later: the leases last for a minute."""
        sent = [self._sent.get() for _ in range(self._sent.qsize())]
        later = False
        try:
            webhooks.record_all([(delivery, outcome) for delivery, outcome in sent if outcome])
        except (InterfaceError, OperationalError):
            later = True
            raise
        finally:
            for delivery, outcome in sent:
                if later:
                    self._sent.put((delivery, outcome))
                else:
                    self._in_flight.pop((delivery.pk, delivery.fence), None)

    @property
    def idle(self) -> bool:
        return not self._in_flight

    def close(self) -> None:
        """Wait for what is in flight, and record it."""
        self._sender.close()
        self._record_sent()


class Plain:
    """A job that calls no other server. ``work`` does it, and returns whether there may be more."""

    def __init__(self, work: Callable[[], bool | int]) -> None:
        self._work = work
        self.idle = True
        self.wake = threading.Event()

    def start_due(self) -> int:
        return int(self._work())

    def close(self) -> None:
        """Nothing is under way."""


def expire() -> bool:
    """Expire elicitations, and go on with erasures; whether there may be more."""
    return bool(elicitations.sweep() + people.sweep_erasures())


def payments() -> JobWindow:
    due = Work(elicitations.payment_accounts_due, elicitations.payments_due, elicitations.follow_up)
    return JobWindow(PAYMENTS, due)


def revocations() -> JobWindow:
    return JobWindow(
        REVOCATIONS,
        Work(vault.providers_due, vault.revocations_due, vault.tell_of_revocation),
        Work(vault.providers_of_rejected_grants, vault.rejected_grants_due, vault.revoke_rejected_grant),
    )


def notify() -> JobWindow:
    return JobWindow(NOTIFY, Work(notifications.channels_due, notifications.due, notifications.tell))


def until_idle(doing: JobRun, seconds: float = 60.0) -> None:
    """Do what is due until nothing is left or ``seconds`` have passed, then wait for what is under way."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if not doing.start_due() and doing.idle:
                return
            doing.wake.wait(POLL)
            doing.wake.clear()
    finally:
        doing.close()


class JobThread:
    """One job of a process. It has at most one thread, however often it is woken.

    After ``wake`` it does what is due, and its thread ends some time after nothing is left. After ``keep_on`` the
    thread stays, and looks again every ``pause`` seconds. The jobs of a process look one after the other, because an
    answer that is due at the same moment would wait for all of them.
    """

    def __init__(self, name: str, make: Callable[[], JobRun]) -> None:
        self.name, self._make, self._pause = name, make, settings.JOB_SECONDS[name]
        self._phase = (_APART + list(MAKE).index(name) / len(MAKE)) * self._pause
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._round: JobRun | None = None
        self._woken = self._stays = False
        self._stopping = threading.Event()
        self._noted = self._kept = float("-inf")

    def wake(self) -> None:
        """Tell the job that there may be something to do. Returns at once."""
        with self._lock:
            self._woken = True
            if self._thread:
                if self._round:
                    self._round.wake.set()
            elif not self._stopping.is_set():
                thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                try:
                    thread.start()
                except (RuntimeError, MemoryError):
                    log.warning("job %s: no thread could be started; the next wake-up tries again", self.name)
                else:
                    self._thread = thread

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def keep_on(self) -> None:
        self._stays = True
        self.wake()

    def _run(self) -> None:
        """The thread. When it ends for any reason, the next ``wake`` starts another one."""
        try:
            self._round = doing = self._round or self._make()
            while not self._stopping.is_set():
                with self._lock:
                    self._woken = False
                if self._more(doing):
                    continue
                done = doing.idle and not self._stays
                if not self._woken:
                    doing.wake.wait(LINGER if done else self.until_next())
                doing.wake.clear()
                with self._lock:
                    if done and not self._woken:
                        self._thread = None
                        break
            metrics_store.keep_if_possible()
            connections.close_all()
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None

    def until_next(self) -> float:
        """Seconds until it looks again by itself."""
        return self._pause - (time.monotonic() - self._phase) % self._pause

    def _more(self, doing: JobRun) -> bool:
        """Do one round. Returns whether there is more. No error may end the job."""
        more = False
        try:
            more = doing.start_due() > 0
            if time.monotonic() > self._noted + NOTE_EVERY:
                self._noted = time.monotonic()
                health.succeeded(health.JOB, self.name)
            if time.monotonic() > self._kept + metrics_store.EVERY:
                self._kept = time.monotonic()
                metrics_store.keep_if_possible()
        except DatabaseError as error:
            readiness.suspect()
            log.warning("job %s: the worker cannot reach the database; it tries again: %s", self.name, error)
        except Exception:  # no error of one round may end the worker
            log.exception("a round of job %s failed; the next one comes", self.name)
        close_old_connections()
        return more

    def stop(self) -> None:
        """Start nothing more. Returns at once; ``join`` waits for what is under way."""
        self._stopping.set()
        if self._round:
            self._round.wake.set()

    def join(self, seconds: float) -> None:
        thread, end = self._thread, time.monotonic() + seconds
        if thread:
            thread.join(seconds)
        if self._round and not (thread and thread.is_alive()):
            closing = threading.Thread(target=self._close, name=f"{self.name}-close", daemon=True)
            closing.start()
            closing.join(max(0.0, end - time.monotonic()))

    def _close(self) -> None:
        if self._round:
            self._round.close()
        connections.close_all()


MAKE: dict[str, Callable[[], JobRun]] = {
    DELIVER.name: WebhookDeliveries,
    EXPIRE.name: lambda: Plain(expire),
    PAYMENTS.name: payments,
    REVOCATIONS.name: revocations,
    REFRESH.name: vault.Refreshes,
    job_table.POLL.name: elicitations.Polls,
    NOTIFY.name: notify,
    AUDIT.name: lambda: Plain(audit_shipping.ship),
    PURGE.name: lambda: Plain(lambda: not purge_for(PURGE_FOR)),
}


def threads(names: Iterable[str] = MAKE) -> dict[str, JobThread]:
    """The job threads of this process, by the name of their job. They do nothing until they are woken."""
    return {name: JobThread(name, MAKE[name]) for name in names}


def stop(running: Iterable[JobThread]) -> None:
    """Finish what is under way and end, within STOP_SECONDS."""
    running, end = list(running), time.monotonic() + STOP_SECONDS
    for job in running:
        job.stop()
    for job in running:
        job.join(max(0.0, end - time.monotonic()))


class Embedded:
    """The jobs inside the server process, or those of ``names`` in a process of their own."""

    def __init__(self, names: Iterable[str] = MAKE) -> None:
        self.threads = threads(names)

    def start(self) -> None:
        wakeups.work_listeners.append(self._rung)
        for job in self.threads.values():
            job.keep_on()

    def _rung(self, job: Job) -> None:
        if job.name in self.threads:
            self.threads[job.name].wake()

    @property
    def alive(self) -> bool:
        return all(job.alive for job in self.threads.values())

    def stop(self) -> None:
        """Finish what is in flight and end."""
        stop(self.threads.values())
