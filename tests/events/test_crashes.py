"""F5, F6, F12: workers are killed or stopped, and the database goes away while they work."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from elicit_flows.jobs import worker
from elicit_flows.models import Delivery
from tests.events.lives import Lives
from tests.events.posting import Hooked
from tests.support import sink
from tests.support.process import until
from tests.support.services import Postgres
from tests.support.sink import Mode, Sink

pytestmark = pytest.mark.slow

KILLS, ENDPOINTS, EVENTS = 12, 10, 300


@pytest.fixture(params=["committed", "on_postgres"], ids=["embedded", "postgres"])
def each_database(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(request.param)


@pytest.fixture
def new_lives(tmp_path: Path) -> Iterator[Callable[[float], Lives]]:
    with ExitStack() as stack:

        def make(lease: float) -> Lives:
            lives = Lives(tmp_path, lease)
            stack.callback(lives.end)
            return lives

        yield make


class Interrupting(Sink):
    """Does ``first`` when the first delivery has come, then answers it by ``mode`` and all others by ``later``."""

    def __init__(self) -> None:
        super().__init__()
        self.first: Callable[[], object] | None = None
        self.mode = self.later = Mode()

    def mode_of(self, path: str) -> Mode:
        if self.first is None:
            return self.later
        first, self.first = self.first, None
        first()
        return self.mode


@pytest.fixture
def interrupting() -> Iterator[Interrupting]:
    started = Interrupting()
    yield started
    started.close()


def abandoned() -> int:
    """How many are leased to a worker that is dead."""
    return Delivery.objects.filter(status="pending").exclude(lease_until=None).count()


def all_delivered() -> bool:
    return not Delivery.objects.exclude(status="delivered").exists()


def whole(received: list[sink.Delivery]) -> list[sink.Delivery]:
    """Without those that broke off with their sender."""
    return [one for one in received if len(one.body) == int(one.headers["content-length"])]


def test_f5_killing_the_worker_at_any_moment_loses_no_event(
    each_database: None, receiver: Sink, new_lives: Callable[[float], Lives]
) -> None:
    lives, dice = new_lives(1.0), random.Random()
    agents = [Hooked.new(receiver) for _ in range(ENDPOINTS)]
    told: dict[str, set[str]] = {agent.path: set() for agent in agents}
    left = 0
    for _ in range(KILLS):
        for number in range(EVENTS // KILLS):
            agent = agents[number % ENDPOINTS]
            told[agent.path].add(agent.tell(number=number).id)
        sent = len(receiver.received()) + dice.randrange(EVENTS // KILLS)
        victim = lives.born()
        until(lambda sent=sent: len(receiver.received()) >= sent, "the worker is in the midst of it", every=0.001)  # type: ignore[misc]
        time.sleep(dice.uniform(0, 0.01))  # the moment is what is tried, nothing is waited for
        lives.kill9(victim)
        left += abandoned()
    lives.born()
    until(all_delivered, "every event is delivered")
    assert left, "no kill met a delivery under way"
    for agent in agents:
        received = whole(agent.received())
        assert {one.id for one in received} == told[agent.path]
        assert len({(one.id, one.body) for one in received}) == len(told[agent.path]), "a duplicate is the same event"
        assert len(received) - len(told[agent.path]) <= KILLS * worker.PER_ENDPOINT
        for one in received:
            one.verify(agent.secret)


def state(event_id: str) -> dict[str, Any]:
    fields = ("status", "tries", "log", "next_at", "fence", "lease_until", "agent__webhook_failures")
    return dict(Delivery.objects.filter(event=event_id).values(*fields).get())


@pytest.mark.parametrize(("stale", "fresh"), [(500, 200), (200, 500), (410, 200)])
def test_f6_a_worker_that_was_stopped_beyond_its_lease_marks_nothing(
    on_postgres: str, interrupting: Interrupting, new_lives: Callable[[float], Lives], stale: int, fresh: int
) -> None:
    lives, hooked = new_lives(0.5), Hooked.new(interrupting)
    old = lives.born()
    interrupting.mode, interrupting.later = Mode(status=stale), Mode(status=fresh)
    interrupting.first = lambda: lives.pause(old)
    event = hooked.tell().id
    interrupting.wait_for(hooked.path)
    new = lives.born()
    until(lambda: state(event)["tries"], "the other worker has delivered it")
    lives.kill9(new)
    after = state(event)
    assert (after["status"], after["log"][0]["status"]) == ("delivered" if fresh == 200 else "pending", fresh)
    lives.resume(old)
    lives.wait_for_log("lease_conflict")
    assert state(event) == after
    assert lives.log.count("lease_conflict") == 1
    assert Counter(one.id for one in hooked.received()) == {event: 2}
    assert hooked.row.webhook_disabled_at is None


def test_f12_a_delivery_that_cannot_be_recorded_is_recorded_when_the_database_is_back(
    on_postgres: str, postgres: Postgres, interrupting: Interrupting, new_lives: Callable[[float], Lives]
) -> None:
    """It goes away after the sending and before the recording. Nothing is sent twice."""
    name = on_postgres.rpartition("/")[2]

    def leave() -> None:
        postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")

    lives, hooked = new_lives(0.5), Hooked.new(interrupting)
    events = [hooked.tell(number=number).id for number in range(3)]
    connection.close()
    interrupting.first = leave
    lives.born()
    lives.wait_for_log("the worker cannot reach the database")
    postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    until(all_delivered, "every event is delivered")
    received = Counter(one.id for one in hooked.received())
    assert received == Counter(events)
    assert all(state(event)["tries"] == 1 for event in events)
