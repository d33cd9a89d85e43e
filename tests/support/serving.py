"""The real ASGI application on a port, in a thread of the test process, where a test can move time and constants.

It answers over HTTP as a box does; its database is the one of the test.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack

import pytest
import uvicorn
from django.db import connections
from pytest_django import DjangoDbBlocker

from config.asgi import Service
from elicit_flows.api.streaming import broker, wakeup_listener
from elicit_flows.events import wakeups
from elicit_flows.lib.http_server import LimitedHeadProtocol
from tests.support.in_process import default_database
from tests.support.process import until

broker.LINGER = 0.0  # seconds: between tests nobody may ask the database
wakeup_listener.PAUSE = 0.05  # seconds: a server here ends at once, not when its listener next looks up


class Served:
    """``url`` is where it answers. ``worker`` runs the embedded worker beside it, which most tests do without."""

    def __init__(self, *, worker: bool = False) -> None:
        self._listeners = wakeups.feed_listeners[:], wakeups.work_listeners[:]
        self._listening: list[threading.Thread] = []
        self.service = Service()
        self.service._metrics = None  # between tests nobody may write what was counted either
        if not worker:
            self.service._worker = None
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            self.service, http=LimitedHeadProtocol, log_config=None, proxy_headers=False, access_log=False,
            lifespan="on", ws="none", timeout_graceful_shutdown=2,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def start(self) -> Served:
        self._thread.start()
        until(lambda: self._server.started, "the server in this process started", timeout=10)
        self._listening = [thread for thread in threading.enumerate() if thread.name == "wake-ups"]
        return self

    @property
    def waiting(self) -> int:
        """How many requests wait now."""
        return self.service._waiting.admission.waiting

    @property
    def asleep(self) -> int:
        """How many of them have read what there is, and will read no more until they are told."""
        hub = self.service._waiting.hub
        watches = list(hub._watches.values()) if hub else []
        places = [place for watch in watches for place in list(watch._waiters.values())]
        sleeping = [waiter._asleep for waiters in places for waiter in list(waiters)]
        return sum(bool(future and not future.done()) for future in sleeping)

    def leave(self) -> None:
        """Tells it to stop, as SIGTERM does."""
        self._server.should_exit = True

    def stop(self) -> None:
        pools = [thread for pool in self.service.pools for thread in pool.threads]
        if self.service._waiting.hub:
            pools.append(self.service._waiting.hub._pool)
        for pool in pools:
            hang_up(pool)
        self.leave()
        self._thread.join(15)
        for listener in self._listening:
            listener.join(5)
        wakeups.feed_listeners[:], wakeups.work_listeners[:] = self._listeners
        for pool in pools:
            pool.shutdown()
        self._socket.close()


def hang_up(pool: ThreadPoolExecutor) -> None:
    """Every thread of the pool closes its database connection: they would hold on to the test's database."""
    threads = list(pool._threads)
    pool._max_workers = len(threads) or 1  # else another thread starts, and closes in place of one that is busy
    together = threading.Barrier(len(threads) or 1)

    def close() -> None:
        together.wait(10)
        connections.close_all()

    wait([pool.submit(close) for _ in threads])


@pytest.fixture(scope="session")
def _served_for_all(committed_database: str, django_db_blocker: DjangoDbBlocker) -> Iterator[Served]:
    with default_database(committed_database, django_db_blocker):
        served = Served().start()
    yield served
    with django_db_blocker.unblock():
        served.stop()


@pytest.fixture
def served(committed: None, _served_for_all: Served) -> Served:
    """The application with its usual settings, one for all tests; the database is empty at the start of each."""
    return _served_for_all


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Starts the application: ``serve(worker=True)``. The test has to ask for a database that commits."""
    with ExitStack() as stack:

        def start(**options: bool) -> Served:
            served = Served(**options)
            stack.callback(served.stop)
            return served.start()

        yield start
