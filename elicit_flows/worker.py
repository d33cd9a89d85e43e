"""The work that nobody waits for: deliveries, upstream revocations, expiry, the purge.

The embedded worker is a thread in the server; a Celery worker runs the same rounds. The rows say what is due.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections, connections

from elicit_flows import flow, vault
from elicit_flows.errors import FlowError
from elicit_flows.models import Delivery
from elicit_flows.purge import purge_for
from elicit_flows.queue import bell, courier

log = logging.getLogger(__name__)

IN_FLIGHT = 64
PER_ENDPOINT = 4
GATHER = 0.005  # seconds
POLL = 1.0  # seconds between looks when no bell rings
TICK: float = settings.SWEEP_SECONDS
REFRESH_SECONDS = 30.0  # for which one round goes on while more is due
PURGE_EVERY = 3600.0


class Rounds:
    """Delivery rounds: keeps up to IN_FLIGHT sends going, fair between endpoints.

    Many threads send. One, that of the rounds, claims and records, and what was sent meanwhile it records in one go:
    so a worker holds one database connection, and waits for the disk once for many deliveries.
    """

    def __init__(self) -> None:
        self._senders = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="send")
        self._sent: SimpleQueue[tuple[Delivery, courier.Outcome | None]] = SimpleQueue()
        self._busy: Counter[int] = Counter()
        self._failing = 0
        self.wake = threading.Event()

    def start_due(self) -> int:
        """Record what was sent, claim what is due and start sending it; how many were started."""
        if self._busy.total() - self._sent.qsize() > IN_FLIGHT // 2:
            time.sleep(GATHER)  # few have come back: with more of them claiming and recording costs each of them less
        self._record_sent()
        room = IN_FLIGHT - self._busy.total()
        busy = {agent: count for agent, count in self._busy.items() if count}
        claimed = courier.claim(room, busy, PER_ENDPOINT, failing=self._failing < IN_FLIGHT // 2) if room else []
        for delivery in claimed:
            self._count(delivery, 1)
            self._senders.submit(self._send, delivery).add_done_callback(_report)
        return len(claimed)

    def _send(self, delivery: Delivery) -> None:
        """Whatever happens, it is not in flight any more."""
        outcome = None
        try:
            outcome = courier.send(courier.prepare(delivery, vault.webhook_secrets(delivery.agent)))
        except FlowError as error:
            outcome = courier.Outcome(False, None, error.detail, 0)
        finally:
            self._sent.put((delivery, outcome))
            self.wake.set()

    def _record_sent(self) -> None:
        """What a database that is away does not take is recorded when it is back: its leases are a minute long."""
        sent = [self._sent.get() for _ in range(self._sent.qsize())]
        later = False
        try:
            courier.record_all([(delivery, outcome) for delivery, outcome in sent if outcome])
        except (InterfaceError, OperationalError):
            later = True
            raise
        finally:
            for delivery, outcome in sent:
                if later:
                    self._sent.put((delivery, outcome))
                else:
                    self._count(delivery, -1)

    def _count(self, delivery: Delivery, change: int) -> None:
        self._busy[delivery.agent_id] += change
        self._failing += change if delivery.agent.webhook_failures else 0

    @property
    def idle(self) -> bool:
        return not self._busy.total()

    def close(self) -> None:
        """Wait for what is in flight, and record it."""
        self._senders.shutdown(wait=True)
        self._record_sent()


def _report(future: Future[None]) -> None:
    error = future.exception()
    if error:
        log.error("a delivery met what nobody foresaw; its lease runs out and it is tried again", exc_info=error)


def tick() -> None:
    """One sweep over everything that time makes due."""
    while flow.sweep():
        pass
    while vault.tell_due_providers():
        pass
    while vault.give_back_due():
        pass
    while flow.sweep_payments():
        pass
    while flow.sweep_erasures():
        pass


def poll() -> None:
    """Ask the providers about the codes that people are typing there."""
    while flow.poll_due():
        pass


def refresh(seconds: float) -> None:
    """Refresh the connections that are due, for at most ``seconds`` and what the last providers take."""
    end = time.monotonic() + seconds
    while vault.refresh_due() and time.monotonic() < end:
        pass


def deliver_until_idle(seconds: float) -> None:
    """Deliver what is due, for at most ``seconds``: a Celery task's worth."""
    rounds, end = Rounds(), time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if not rounds.start_due() and rounds.idle:
                return
            rounds.wake.wait(POLL)
            rounds.wake.clear()
    finally:
        rounds.close()


class Embedded:
    """The worker inside the server process: one thread delivers, another sweeps, a third refreshes, a fourth polls.

    All but the first ask providers, which may take their time; deliveries do not wait for that, nor one for the other.
    """

    def __init__(self) -> None:
        self._rounds = Rounds()
        self._stopping = threading.Event()
        self._sweep = threading.Event()
        self._ending = threading.Event()
        self._next_purge = 0.0
        self._threads = [
            threading.Thread(target=self._deliver, name="worker", daemon=True),
            threading.Thread(target=self._go_on, args=(self._tick, self._sweep, TICK), name="sweeper", daemon=True),
            threading.Thread(
                target=self._go_on, args=(self._refresh, self._ending, TICK), name="refresher", daemon=True
            ),
            threading.Thread(
                target=self._go_on, args=(self._poll, threading.Event(), POLL), name="poller", daemon=True
            ),
        ]

    def start(self) -> None:
        bell.work_listeners.append(self._rung)
        for thread in self._threads:
            thread.start()

    def _deliver(self) -> None:
        self._go_on(lambda: self._rounds.start_due() > 0, self._rounds.wake, POLL)
        self._rounds.close()
        connections.close_all()

    def _go_on(self, work: Callable[[], bool], wake: threading.Event, pause: float) -> None:
        """Do ``work`` again and again; where it says that there is no more, when woken or after ``pause`` seconds."""
        while not self._stopping.is_set():
            try:
                more = work()
            except DatabaseError as error:
                log.warning("the worker cannot reach the database; it tries again: %s", error)
                more = False
            except Exception:  # nothing that one round meets may end the worker
                log.exception("a round of the worker failed; the next one comes")
                more = False
            close_old_connections()
            if not more:
                wake.wait(pause)
                wake.clear()
        connections.close_all()

    def _tick(self) -> bool:
        """Whether to go on at once: a purge of many rows lets the sweeps through every few seconds."""
        tick()
        if time.monotonic() >= self._next_purge:
            if not purge_for(TICK):
                return True
            self._next_purge = time.monotonic() + PURGE_EVERY
        return False

    def _refresh(self) -> bool:
        refresh(REFRESH_SECONDS)
        return False

    def _poll(self) -> bool:
        poll()
        return False

    def _rung(self, work: bell.Work) -> None:
        (self._sweep if work is bell.Work.SWEEP else self._rounds.wake).set()

    def stop(self) -> None:
        """Finish what is in flight and end."""
        self._stopping.set()
        self._rounds.wake.set()
        self._sweep.set()
        self._ending.set()
        for thread in self._threads:
            thread.join(timeout=courier.DEADLINE + 5)
