"""T97, F8: the rounds of the worker and their limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from elicit_flows.events import wakeups
from elicit_flows.jobs import worker
from elicit_flows.models import Elicitation, Event
from tests.events.posting import Hooked, deliver
from tests.support import jobs, rows
from tests.support.machine import within
from tests.support.moving import MovingClock
from tests.support.process import until
from tests.support.rows import question
from tests.support.serving import Served
from tests.support.sink import Sink

ENDPOINTS, HANGING, WAVES = 20, 2, 6
BACKLOG = 70  # events for each endpoint that hangs: together more than the worker sends at a time


@pytest.fixture
def embedded(committed: None, receiver: Sink) -> Iterator[worker.Embedded]:
    """The worker of the embedded shape, in this process."""
    before = wakeups.work_listeners[:]
    started = worker.Embedded()
    started.start()
    yield started
    receiver.released.set()  # what hangs is over
    started.stop()
    wakeups.work_listeners[:] = before


def slowest_but_one_in_a_hundred(agents: list[Hooked]) -> float:
    """The 99th percentile, in seconds, from the commit of an event to its arrival; events come all the time."""
    told = {}
    for _ in range(WAVES):
        for agent in agents:
            event = agent.tell()
            told[event.id] = time.monotonic()
        time.sleep(0.02)  # the pace at which events come
    for agent in agents:
        agent.receiver.wait_for(agent.path, Event.objects.filter(agent=agent.known.row).count())
    arrived = {one.id: one.at for agent in agents for one in agent.received()}
    took = sorted(arrived[event] - began for event, began in told.items())
    return took[int(len(took) * 0.99) - 1]


@pytest.mark.slow
def test_t97_endpoints_that_hang_do_not_hold_up_the_others(embedded: worker.Embedded, receiver: Sink) -> None:
    healthy = [Hooked.new(receiver) for _ in range(ENDPOINTS - HANGING)]
    hanging = [Hooked.new(receiver) for _ in range(HANGING)]
    assert HANGING * BACKLOG > worker.IN_FLIGHT
    without = slowest_but_one_in_a_hundred(healthy)
    for agent in hanging:
        receiver.hang(agent.path)
        for _ in range(BACKLOG):
            agent.tell()
    for agent in hanging:
        receiver.wait_for(agent.path, worker.PER_ENDPOINT)
    beside = slowest_but_one_in_a_hundred(healthy)
    # A fifth of a second is what a busy machine takes now and then; one hang takes fifteen seconds.
    assert beside < 2 * without + within(0.2)
    for agent in hanging:
        assert len(agent.received()) == worker.PER_ENDPOINT


def test_t97_an_endpoint_that_failed_is_tried_one_by_one(hooked: Hooked, moving_clock: MovingClock) -> None:
    """Deliveries that never failed come first."""
    hooked.receiver.status(hooked.path, 500)
    for _ in range(9):
        hooked.tell()
    rounds = worker.WebhookDeliveries()
    assert rounds.start_due() == worker.PER_ENDPOINT
    hooked.receiver.wait_for(hooked.path, worker.PER_ENDPOINT)
    rounds.close()
    hooked.receiver.hang(hooked.path)
    again = worker.WebhookDeliveries()
    assert again.start_due() == 1
    assert again.start_due() == 0
    hooked.receiver.released.set()
    again.close()


@pytest.mark.slow
def test_f8_a_sweeper_that_was_dead_catches_up(hooked: Hooked, served: Served, moving_clock: MovingClock) -> None:
    """More than one batch is overdue. One elicitation was expired by a reader meanwhile, and one has ended already."""
    rows.provider()
    with hooked.known.client(served.url) as api:
        asked = [api.post("/v1/elicitations", json=question(expires_in=900)).json()["id"] for _ in range(130)]
        api.post(f"/v1/elicitations/{asked[1]}/cancel")
        moving_clock.forward(hours=1)
        assert api.get(f"/v1/elicitations/{asked[0]}").json()["status"] == "expired"
        assert Elicitation.objects.filter(status="pending").count() == 128
        jobs.tick()
        assert not Elicitation.objects.filter(status="pending").exists(), "one sweep is enough"
        jobs.tick()
        found = api.get("/v1/events", params={"limit": 1000}).json()["data"]
    ends = [event["elicitation"] for event in found if event["type"] != "elicitation.created"]
    assert sorted(ends) == sorted(asked), "each is over, and said so once"
    assert Elicitation.objects.filter(status="expired").count() == 129
    overdue = Elicitation.objects.get(pk=asked[5])
    assert overdue.finished_at
    assert overdue.finished_at - overdue.expires_at > timedelta(minutes=30)


def connections_to_the_database() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_tasks_leave_no_database_connection_behind(on_postgres: str, receiver: Sink) -> None:
    """A Celery worker runs one round every few seconds, for months."""
    hooked = Hooked.new(receiver)
    for _ in range(10):
        for _ in range(6):
            hooked.tell()
        deliver()
    until(lambda: connections_to_the_database() == 1, "only this connection is left", timeout=5)


def test_nothing_is_sent_without_a_signature(hooked: Hooked) -> None:
    """A receiver that accepts such a signature once would accept any."""
    row = hooked.row
    row.webhook_secret = ""
    row.save()
    sent = hooked.on_its_way(hooked.tell())
    deliver()
    sent.refresh_from_db()
    assert hooked.received() == []
    assert (sent.status, sent.tries) == ("pending", 1)
    assert "secret" in sent.log[0]["note"]
