"""`manage.py serve --jobs`: a web process does the jobs that it was told, with a broker and without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from elicit_flows.job_table import BY_NAME
from elicit_flows.management.job_names import server_jobs
from tests.events.worker_checks import BUSY, ask, expired, make_overdue
from tests.support import box_settings
from tests.support.box import AgentClient, Box
from tests.support.op import Op
from tests.support.process import until
from tests.support.services import Redis
from tests.support.sink import Sink

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def full(new_box: Callable[..., Box], broker: Redis) -> Iterator[Box]:
    """Two web processes and nothing else: the first sends webhooks, the second does no job."""
    box = new_box("full", start=False, redis_url=broker.url(), webs=2)
    del box.processes["beat"], box.processes["worker"]
    box.processes["web"].command += ["--jobs", "deliver, purge"]
    box.start()
    yield box
    box.remove()


@pytest.fixture
def agent(full: Box) -> AgentClient:
    return full.fresh_agent()


def test_a_web_process_does_the_jobs_that_it_was_told_alone(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    assert "; worker: embedded, for deliver, purge\n" in full.logs("web")
    assert "; worker: Celery\n" in full.logs("web2")
    asked = ask(agent, corp)
    make_overdue(full, asked)
    sink.wait_for_event(f"/{agent.slug}", "elicitation.created", asked, timeout=box_settings.SWEEP_SECONDS + BUSY)
    with broker.client() as client:
        client.lpush("deliver", "a hint")
        until(lambda: not client.exists("deliver"), "it takes the hints for its jobs")
        client.lpush("expire", "a hint")
        time.sleep(3 * box_settings.SWEEP_SECONDS)
        assert client.exists("expire"), "it leaves those of other jobs"
    assert not expired(full, asked)


@pytest.mark.parametrize("shape", ["embedded", "full"])
def test_a_web_process_that_is_to_do_no_job_does_none(
    new_box: Callable[..., Box], corp: Op, sink: Sink, shape: str
) -> None:
    box = new_box(shape, start=False)
    for name in set(box.processes) - {"web"}:
        del box.processes[name]
    box.processes["web"].command += ["--jobs", "none"]
    box.start()
    agent = box.fresh_agent()
    ask(agent, corp)
    time.sleep(3 * box_settings.SWEEP_SECONDS)
    assert "; worker: none\n" in box.logs("web")
    assert sink.received(f"/{agent.slug}") == []
    assert agent.get("/readyz").json()["worker"] == "has not run yet"


@pytest.mark.parametrize(
    ("said", "jobs"), [("all", list(BY_NAME)), ("none", []), ("purge, deliver,purge", ["purge", "deliver"])]
)
def test_jobs_are_named_or_all_or_none(said: str, jobs: list[str]) -> None:
    assert server_jobs(said) == jobs


def test_a_web_process_refuses_a_job_that_there_is_not(full: Box) -> None:
    ran = full.manage("serve", "--jobs", "deliver,refreshes", check=False)
    assert ran.returncode == 2
    assert f"there is no job refreshes; the jobs are {', '.join(BY_NAME)}" in ran.stderr
