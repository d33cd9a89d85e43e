"""T129: Celery's worker survives thousands of hints, malformed messages, an old database schema, and being stopped."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery import Celery

from elicit_flows.job_table import BY_NAME
from tests.events.worker_checks import BUSY, ask, check_stops_with_its_work_done
from tests.support import box_settings
from tests.support.box import AgentClient, Box
from tests.support.op import Op
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.services import Postgres, Redis
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

QUEUES = tuple(BY_NAME)
STORM = 3000  # far more than Python's limit of recursion


@pytest.fixture(scope="module")
def full(new_box: Callable[..., Box], broker: Redis) -> Iterator[Box]:
    """Its worker and its broker are this module's."""
    box = new_box("full", redis_url=broker.url())
    yield box
    box.remove()


@pytest.fixture
def agent(full: Box) -> AgentClient:
    return full.fresh_agent()


def check_delivers(full: Box, agent: AgentClient, corp: Op, sink: Sink) -> None:
    asked = ask(agent, corp)
    sink.wait_for_event(f"/{agent.slug}", "elicitation.created", asked, timeout=box_settings.SWEEP_SECONDS + BUSY)


@pytest.mark.slow
def test_t129_a_storm_of_hints_that_expire_does_not_end_the_worker(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    """Also while an endpoint hangs: Celery ends with a RecursionError over a thousand that expired in its memory."""
    hanging, pid = full.fresh_agent(), full.pid("worker")
    sink.hang(f"/{hanging.slug}")
    for _ in range(3):
        ask(hanging, corp)
    sink.wait_for(f"/{hanging.slug}", 3)
    with Celery(broker=broker.url()) as messages, messages.producer_pool.acquire() as producer:
        for number in range(STORM):
            messages.send_task(
                f"elicit_flows.jobs.tasks.{('deliver', 'expire')[number % 2]}", queue=("deliver", "expire")[number % 2],
                expires=0.5, producer=producer,
            )  # fmt: skip
    with broker.client() as client:
        until(lambda: not client.llen("deliver") + client.llen("expire"), "the worker has taken them all")
    check_delivers(full, agent, corp, sink)
    sink.ok(f"/{hanging.slug}")
    assert (full.processes["worker"].alive, full.pid("worker")) == (True, pid)


def poison(task: str = "elicit_flows.jobs.tasks.deliver", body: str = "W1tdLCB7fSwge31d", **properties: object) -> str:
    """A message as Celery writes it, but for what is given."""
    usual = {
        "correlation_id": "x", "reply_to": "y", "delivery_mode": 2, "priority": 0, "body_encoding": "base64",
        "delivery_tag": "t", "delivery_info": {"exchange": "elicit", "routing_key": "deliver"},
    }  # fmt: skip
    headers = {"lang": "py", "task": task, "id": "poison", "argsrepr": "()", "kwargsrepr": "{}"}
    message = {"body": body, "content-encoding": "utf-8", "content-type": "application/json", "headers": headers}
    return json.dumps({**message, "properties": usual, **properties})


POISONS: dict[str, str | bytes] = {
    "no JSON": "not a message",
    "no UTF-8": b"\xff\xfe\x00",
    "a list": "[1, 2]",
    "a word": '"word"',
    "no properties": "{}",
    "null properties": '{"properties": null, "body": ""}',
    "an unknown task": poison("elicit_flows.jobs.tasks.nothing"),
    "wrong arguments": poison(body="W1sxLCAyLCAzXSwge30sIHt9XQ=="),
    "a body that is no base64": poison(body="%%%"),
    "a body of another shape": poison(body="eyJhIjogMX0="),
    "pickle": poison(body=pickle.dumps(1).hex(), **{"content-type": "application/x-python-serialize"}),
    "an unknown encoding": poison(**{"content-encoding": "nonsense"}),
    "headers that are no table": poison(headers="nothing"),
}


@pytest.mark.slow
def test_t129_what_is_no_message_of_celerys_does_not_end_the_worker(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    pid = full.pid("worker")
    for what, message in POISONS.items():
        with broker.client() as client:
            for queue in QUEUES:
                client.lpush(queue, message)
            until(lambda: not sum(client.llen(queue) for queue in QUEUES), f"{what} is taken")  # type: ignore[misc]
        check_delivers(full, agent, corp, sink)
        assert (full.processes["worker"].alive, full.pid("worker")) == (True, pid), what


@pytest.mark.slow
@pytest.mark.limit(90)
def test_t129_without_a_worker_the_queues_do_not_grow(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    """One hint is enough for a thousand rows, whether beat or a web process sends it."""
    full.processes["worker"].stop()
    try:
        asked = [ask(agent, corp) for _ in range(20)]
        time.sleep(3 * box_settings.SWEEP_SECONDS)  # beat goes on
        with broker.client() as client:
            lengths = {queue: client.llen(queue) for queue in QUEUES}
    finally:
        full.restart("worker")
    assert lengths["deliver"] >= 1
    assert max(lengths.values()) <= 2, f"beat and a web process may look in the same moment: {lengths}"
    for one in asked:
        sink.wait_for_event(f"/{agent.slug}", "elicitation.created", one, timeout=box_settings.SWEEP_SECONDS + BUSY)


@pytest.mark.slow
@pytest.mark.limit(150)
def test_t129_a_worker_of_each_queue_does_its_own_work_alone(
    full: Box, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    """As docker-compose.yml runs them."""
    worker = full.processes["worker"]
    usual = worker.command
    worker.stop()
    try:
        worker.command = [*usual, "-Q", ",".join(set(BY_NAME) - {"deliver"})]
        full.restart("worker")
        asked = ask(agent, corp)
        time.sleep(3 * box_settings.SWEEP_SECONDS)
        assert sink.received(f"/{agent.slug}") == [], "it delivers nothing"
        worker.command = [*usual, "-Q", "deliver"]
        full.restart("worker")
        sink.wait_for_event(f"/{agent.slug}", "elicitation.created", asked, timeout=box_settings.SWEEP_SECONDS + BUSY)
    finally:
        worker.command = usual
        full.restart("worker")


def lines_of(printed: str, source: str) -> list[dict[str, Any]]:
    """What was printed as lines of the audit log, and not inside a message of a log."""
    found = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return [line for line in found if line.get("source") == source]


def test_a_worker_prints_the_audit_log_as_it_is(full: Box, agent: AgentClient, corp: Op) -> None:
    """Celery would put what is printed into messages of its own log."""
    worker = full.processes["worker"]
    worker.env["ELICIT_AUDIT_LOG"] = "stdout"
    try:
        full.restart("worker")
        asked = ask(agent, corp)
        until(
            lambda: asked in [line["about"]["id"] for line in lines_of(full.logs("worker"), "events")],
            "the line is there",
        )
    finally:
        del worker.env["ELICIT_AUDIT_LOG"]
        full.restart("worker")


@pytest.mark.slow
@pytest.mark.limit(90)
def test_t129_a_worker_that_is_told_to_stop_finishes_what_it_sends(
    full: Box, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    check_stops_with_its_work_done(full, agent, corp, sink)


@pytest.mark.slow
def test_a_worker_does_not_start_on_an_older_schema(new_box: Callable[..., Box], postgres: Postgres) -> None:
    box = new_box("full", start=False, configure=False, database_url=postgres.database(migrated=False))
    worker = box.processes["worker"]
    worker.start()
    until(lambda: not worker.alive, "it ends")
    assert worker.stop() == 1
    assert "run `manage.py migrate` first" in worker.output()
    assert "ready." not in worker.output()


def test_t79_a_worker_does_not_start_before_the_database_has_said_which_keys_are_right(
    new_box: Callable[..., Box],
) -> None:
    """Otherwise it would go on unchecked as soon as the database is back."""
    box = new_box(
        "full", start=False, configure=False, database_url=f"postgres://postgres@127.0.0.1:{free_port()}/none"
    )
    worker = box.processes["worker"]
    worker.start()
    until(lambda: not worker.alive, "it ends")
    assert worker.stop() == 1
    assert "DATABASE_URL: the database does not answer" in worker.output()
