"""T129: `manage.py work`, jobs in processes of their own without Celery: each set does its own, and ends in time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from celery import Celery

from elicit_flows.job_table import BY_NAME
from tests.events.worker_checks import BUSY, GRACE, ask, check_stops_with_its_work_done, expired, make_overdue
from tests.support import box_settings
from tests.support.box import AgentClient, Box
from tests.support.op import Op
from tests.support.process import until
from tests.support.services import Postgres, Redis
from tests.support.sink import Sink

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def full(new_box: Callable[..., Box], broker: Redis) -> Iterator[Box]:
    """Without beat, and with a process of `work` where Celery's worker is otherwise."""
    box = new_box("full", start=False, redis_url=broker.url())
    del box.processes["beat"]
    box.processes["worker"].command = [sys.executable, "manage.py", "work"]
    box.processes["worker"].env["ELICIT_ALIVE_FILE"] = str(box.home / "alive")
    box.start()
    yield box
    box.remove()


@pytest.fixture
def agent(full: Box) -> AgentClient:
    return full.fresh_agent()


@contextmanager
def working(full: Box, *jobs: str) -> Iterator[None]:
    """The process does these jobs and no other."""
    worker = full.processes["worker"]
    usual = worker.command
    worker.stop(GRACE)
    worker.command = [*usual, "--jobs", ",".join(jobs)]
    try:
        full.restart("worker")
        yield
    finally:
        worker.stop(GRACE)
        worker.command = usual
        full.restart("worker")


def check_delivers(agent: AgentClient, corp: Op, sink: Sink) -> None:
    sink.wait_for_event(
        f"/{agent.slug}", "elicitation.created", ask(agent, corp), timeout=box_settings.SWEEP_SECONDS + BUSY
    )


def test_t129_one_process_does_every_job_and_takes_the_hints_that_celery_would(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    check_delivers(agent, corp, sink)
    asked = ask(agent, corp)
    make_overdue(full, asked)
    until(lambda: expired(full, asked), "it expires without beat")
    with Celery(broker=broker.url()) as messages, messages.producer_pool.acquire() as producer:
        for job in BY_NAME.values():
            messages.send_task(job.task, queue=job.name, producer=producer)
    with broker.client() as client:
        client.lpush("deliver", b"\xff no message of Celery's")
        until(lambda: not client.exists(*BY_NAME), "every hint is taken, whatever it says")
    check_delivers(agent, corp, sink)


@pytest.mark.slow
@pytest.mark.limit(150)
def test_t129_a_process_does_the_jobs_that_it_was_told_alone(
    full: Box, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    asked = ask(agent, corp)
    sink.wait_for_event(f"/{agent.slug}", "elicitation.created", asked)
    with working(full, "deliver", "purge"):
        make_overdue(full, asked)
        check_delivers(agent, corp, sink)
        time.sleep(3 * box_settings.SWEEP_SECONDS)
        assert not expired(full, asked)
    told = len(sink.received(f"/{agent.slug}"))
    with working(full, *(set(BY_NAME) - {"deliver"})):
        until(lambda: expired(full, asked), "it expires")
        ask(agent, corp)
        time.sleep(3 * box_settings.SWEEP_SECONDS)
        assert len(sink.received(f"/{agent.slug}")) <= told + 1, "it delivers nothing"


@pytest.mark.slow
@pytest.mark.limit(90)
def test_t129_a_process_that_is_told_to_stop_finishes_what_it_sends(
    full: Box, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    check_stops_with_its_work_done(full, agent, corp, sink)


@pytest.mark.slow
@pytest.mark.limit(120)
def test_t129_without_redis_the_jobs_look_for_themselves(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    broker.kill9()
    try:
        check_delivers(agent, corp, sink)
        asked = ask(agent, corp)
        make_overdue(full, asked)
        until(lambda: expired(full, asked), "it expires")
    finally:
        broker.start()
    assert full.logs("worker").count("no hints") == 1
    check_delivers(agent, corp, sink)


def test_a_process_of_jobs_shows_that_it_lives(full: Box) -> None:
    file = Path(full.home / "alive")
    until(file.exists, "it has touched the file")
    file.unlink()
    until(file.exists, "it touches the file again")


def test_there_are_no_other_jobs_than_those_of_the_table(full: Box) -> None:
    ran = full.manage("work", "--jobs", "refresh,refreshes", check=False)
    assert ran.returncode == 2
    assert f"there is no job refreshes; the jobs are {', '.join(BY_NAME)}" in ran.stderr


@pytest.mark.slow
def test_a_process_of_jobs_does_not_start_on_an_older_schema(new_box: Callable[..., Box], postgres: Postgres) -> None:
    box = new_box("full", start=False, configure=False, database_url=postgres.database(migrated=False))
    ran = box.manage("work", check=False)
    assert ran.returncode == 1
    assert "run `manage.py migrate` first" in ran.stderr
