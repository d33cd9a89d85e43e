"""F1, F9 and F11: what ends Celery's worker, what fills its queue, and what it does on an older schema."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from celery import Celery

from tests.queue.test_broker import ask
from tests.support import box_settings
from tests.support.box import Box
from tests.support.fixtures import new_redis
from tests.support.op import Op
from tests.support.process import until
from tests.support.services import Postgres, Redis
from tests.support.sink import Sink

QUEUE = "celery"
STORM = 3000  # far more than Python's limit of recursion


@pytest.fixture(scope="module")
def broker() -> Iterator[Redis]:
    server = new_redis()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def full(new_box: Callable[..., Box], broker: Redis) -> Iterator[Box]:
    """Its worker and its broker are this module's."""
    box = new_box("full", redis_url=broker.url())
    yield box
    box.remove()


@pytest.fixture
def worker(full: Box) -> Iterator[Box]:
    """The box, whose worker runs again after the test."""
    yield full
    full.restart("worker")


def test_t129_without_a_worker_the_queues_do_not_grow(worker: Box, broker: Redis, corp: Op) -> None:
    """One message is enough for any number of rows; each event sends another."""
    worker.processes["worker"].stop()
    agent = worker.fresh_agent()
    for _ in range(20):
        ask(agent, corp)
    time.sleep(3 * box_settings.SWEEP_SECONDS)  # beat goes on
    with broker.client() as client:
        waiting = int(client.llen(QUEUE))  # type: ignore[arg-type]
        client.flushall()
    assert waiting <= 10, "two of each of five tasks"


def ended_by(box: Box, seconds: float) -> str:
    """What Celery says that its worker ends of by itself within that time; "" where it goes on."""
    with suppress(TimeoutError):
        until(lambda: not box.processes["worker"].alive, "it ends", timeout=seconds)
    return "" if box.processes["worker"].alive else re.findall(r"Unrecoverable error: (\w+)", box.logs("worker"))[-1]


@pytest.mark.limit(150)
def test_t129_a_storm_of_hints_that_expire_does_not_end_the_worker(
    worker: Box, broker: Redis, corp: Op, sink: Sink
) -> None:
    """They expire in its memory, where they wait because an agent's endpoint hangs."""
    hanging = worker.fresh_agent()
    sink.hang(f"/{hanging.slug}")
    for _ in range(3):
        ask(hanging, corp)
    sink.wait_for(f"/{hanging.slug}", 2)
    with Celery(broker=broker.url()) as messages, messages.producer_pool.acquire() as producer:
        for _ in range(STORM):
            messages.send_task("elicit_flows.tasks.deliver", queue=QUEUE, expires=0.5, producer=producer)
    error = ended_by(worker, 60)
    sink.ok(f"/{hanging.slug}")
    assert error == ""


def test_t129_what_is_no_message_of_celerys_does_not_end_the_worker(worker: Box, broker: Redis) -> None:
    with broker.client() as client:
        client.lpush(QUEUE, "not a message")
    assert ended_by(worker, 20) == ""


def test_a_worker_does_not_start_on_an_older_schema(new_box: Callable[..., Box], postgres: Postgres) -> None:
    """``serve`` refuses it, the worker is ready and fails at each of its tasks."""
    box = new_box("full", start=False, configure=False, database_url=postgres.database(migrated=False))
    worker = box.processes["worker"]
    worker.start()
    until(lambda: not worker.alive or " ready." in worker.output(), "it ends, or is ready")
    started = worker.alive
    worker.kill9()
    assert not started, "it is ready for work"
