"""What the streaming process keeps open: the listener for wake-ups, few database connections, and little memory."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import psycopg
import pytest
from django.db import OperationalError, connection

from elicit_flows import elicitations
from elicit_flows.api.streaming import app
from elicit_flows.events import feed, wakeups
from elicit_flows.lib import gc_tuning, telemetry
from elicit_flows.models import Agent, Elicitation
from tests.support import rows
from tests.support.machine import within
from tests.support.process import until
from tests.support.rows import Known, question
from tests.support.serving import Served

pytestmark = pytest.mark.slow


def asked_of_postgres(url: str, statement: str) -> int:
    with psycopg.connect(url, autocommit=True) as looking:
        found = looking.execute(statement.encode()).fetchone()
    assert found
    return int(found[0])


def own_backend() -> int:
    connection.ensure_connection()
    return int(connection.connection.info.backend_pid)


def listeners(url: str) -> int:
    where = "datname = current_database() AND query LIKE 'LISTEN%'"
    return asked_of_postgres(url, f"SELECT count(*) FROM pg_stat_activity WHERE {where}")


@pytest.fixture
def on_its_own(on_postgres: str, serve: Callable[..., Served]) -> Served:
    return serve()


@pytest.fixture
def agent(on_its_own: Served) -> Iterator[httpx2.Client]:
    rows.provider()
    with rows.agent().client(on_its_own.url) as api:
        yield api


@contextmanager
def waiting(api: httpx2.Client, served: Served, content: bytes | None = None) -> Iterator[None]:
    asked = api.post("/v1/elicitations", json=question()).json()["id"]
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(api.request, "GET", f"/v1/elicitations/{asked}", params={"wait": 20}, content=content)
        until(lambda: served.asleep == 1, "it waits")
        yield
        elicitations.cancel(Elicitation.objects.get(pk=asked))
        assert answer.result(10).json()["status"] == "cancelled"


def test_bells_are_heard_while_somebody_waits_and_only_then(
    on_postgres: str, on_its_own: Served, agent: httpx2.Client
) -> None:
    time.sleep(0.2)
    assert listeners(on_postgres) == 0
    with waiting(agent, on_its_own):
        until(lambda: listeners(on_postgres) == 1, "it listens", timeout=5)
    until(lambda: listeners(on_postgres) == 0, "it rests again", timeout=5)


def test_a_process_does_not_hear_its_own_bell() -> None:
    assert wakeups.read_message(wakeups.message(7)) == (7, False)
    assert wakeups.read_message("7 of-another-process") == (7, True)


def test_f12_a_waiter_does_not_notice_that_the_database_hung_up_meanwhile(
    on_postgres: str, on_its_own: Served, agent: httpx2.Client
) -> None:
    asked = agent.post("/v1/elicitations", json=question()).json()["id"]
    with waiting(agent, on_its_own):
        ours = f"datname = current_database() AND pid NOT IN (pg_backend_pid(), {own_backend()})"
        hung_up = asked_of_postgres(
            on_postgres, f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {ours}"
        )
        assert hung_up  # what is read together may need one alone
        for _ in range(10):  # each of the plane's threads finds its connection broken
            answer = agent.get(f"/v1/elicitations/{asked}", params={"wait": 1, "after_seq": 0})
            assert answer.status_code == 200, answer.text


def test_t64_a_watched_feed_admits_a_key_no_longer_than_a_second_after_it_was_taken_back(
    api: httpx2.Client, served: Served, known: Known
) -> None:
    """While other requests wait, the API key is read from memory. The memory is at most a second old."""
    with waiting(api, served):
        assert api.get("/v1/events", params={"wait": 1}).status_code == 200
        Agent.objects.filter(pk=known.row.pk).update(enabled=False)
        began = time.monotonic()
        until(lambda: api.get("/v1/events", params={"wait": 0}).status_code == 401, "the key is refused", timeout=5)
        assert time.monotonic() - began < within(2.5)
        Agent.objects.filter(pk=known.row.pk).update(enabled=True)


def test_t64_no_key_is_known_from_memory_while_nobody_can_look(
    api: httpx2.Client, served: Served, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise OperationalError("the database is away")

    with waiting(api, served):
        monkeypatch.setattr(feed, "heads", away)
        Agent.objects.filter(pk=known.row.pk).update(enabled=False)
        until(lambda: api.get("/v1/events", params={"wait": 0}).status_code == 401, "the key is refused", timeout=5)


def test_a_request_that_waits_takes_one_task_unless_it_has_a_body(api: httpx2.Client, served: Served) -> None:
    """A second task, which listens for the client's leaving, would take 2 kB of each waiting request."""

    def tasks() -> Counter[str]:
        hub = served.service._waiting.hub
        assert hub
        return Counter(task.get_coro().__qualname__ for task in asyncio.all_tasks(hub._loop))  # type: ignore[union-attr]

    with waiting(api, served):
        found = tasks()
        assert found["RequestResponseCycle.run_asgi"] == 1
        assert found["Waiting._answer"] == 0
    with waiting(api, served, content=b"{}"):
        assert tasks()["Waiting._answer"] == 1
    until(lambda: served.waiting == 0, "those that were left are forgotten", timeout=5)


@pytest.mark.parametrize("content", [None, b"{}"])
def test_an_unexpected_error_is_logged_with_the_number_that_the_client_gets(
    api: httpx2.Client, served: Served, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    logged: list[tuple[str, dict[str, str]]] = []

    async def broken(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(served.service._waiting, "_asker", broken)
    monkeypatch.setattr(app.log, "exception", lambda what: logged.append((what, dict(telemetry._fields.get() or {}))))
    answer = api.request("GET", "/v1/events?wait=1", content=content)
    assert answer.status_code == 500
    [(what, fields)] = logged
    assert what == "a waiting request failed with an unexpected error"
    assert fields["request"] == answer.headers["x-request-id"]


def test_requests_that_wait_one_after_the_other_do_not_make_one_long_collection(api: httpx2.Client) -> None:
    """Python's own count of objects does not rise with them."""
    before, made = gc.get_threshold(), gc.get_stats()[1]["collections"]
    try:
        gc.set_threshold(1_000_000)
        for _ in range(3 * gc_tuning.WAITS):
            assert api.get("/v1/events?wait=0").status_code == 200
    finally:
        gc.set_threshold(*before)
    assert gc.get_stats()[1]["collections"] == made + 3


def test_the_start_is_set_aside_and_nobody_is_held_up_by_a_full_collection() -> None:
    before = gc.get_threshold()
    try:
        gc_tuning.freeze()
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (gc_tuning.YOUNG, gc_tuning.MIDDLE, gc_tuning.OLD)
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
