"""F7: the process is killed at each outside call of a refresh, and the next worker finishes the refresh."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.conf import LazySettings
from pytest_django import DjangoDbBlocker

from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Event
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response
from tests.faults.crashing import Crashing, Point, cut
from tests.support import rows
from tests.support.box import AgentClient
from tests.support.in_process import default_database
from tests.support.process import until
from tests.support.rows import Known

pytestmark = pytest.mark.slow

POINTS = int(os.environ.get("CRASH_POINTS", "3"))  # of each system call, spread evenly
GONE = "connection.reauthorization_required"


@dataclass
class Refreshing:
    """Connections of one provider, each with an access token that has run out."""

    known: Known
    agent: AgentClient
    row: ProviderRow
    double: Provider
    held: list[Connection]

    def begin(self) -> None:
        """The agent fetches the token of one more connection."""
        one = rows.connection(self.known, self.row, rows.grant(self.double, account=f"n-{len(self.held)}"))
        rows.expire(one)
        self.held.append(one)
        cut(lambda: self.agent.post(f"/v1/connections/{one.pk}/token"))


@pytest.fixture
def inside(crashing: Crashing, settings: LazySettings, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    settings.ELICIT_VAULT_KEYS = crashing.box.env["ELICIT_VAULT_KEYS"]
    with default_database(crashing.box.database_url, django_db_blocker):
        yield


@pytest.fixture
def at(crashing: Crashing, quiet_agent: AgentClient, inside: None) -> Iterator[Callable[[str], Refreshing]]:
    doubles: list[Provider] = []
    known = Known(Agent.objects.get(slug=quiet_agent.slug), crashing.box.programs[quiet_agent.slug])

    def make(slug: str) -> Refreshing:
        doubles.append(Provider())
        return Refreshing(known, quiet_agent, rows.provider(doubles[-1], slug=slug), doubles[-1], [])

    yield make
    for double in doubles:
        double.close()


@pytest.mark.limit(1200 if POINTS > 10 else 120)
@pytest.mark.parametrize("crashing_box", ["postgresql"], indirect=True)
def test_f7_t82_wherever_a_refresh_is_killed_it_heals_or_its_agent_is_told(
    crashing: Crashing, at: Callable[[str], Refreshing]
) -> None:
    strict, lenient = at("strict"), at("lenient")
    lenient.double.rotates = False  # it honours the refresh token of before for a while
    twice = [strict.begin] * 2
    # Only half a dozen of what is sent lie between the provider's answer and the commit: every one is a point.
    points: list[Point] = crashing.points(twice, ["sendto"], 8 * POINTS, anew=True)
    points += crashing.points(twice, ["recvfrom", "write"], POINTS - 1, anew=True)
    for point in points:
        for one in (strict, lenient):
            with crashing.at(point):
                one.begin()
    assert crashing.met(points * 2)
    # How many of the points lie between the provider's answer and the commit differs with what else runs here.
    die_unheard(crashing, strict)

    begun = Connection.objects.exclude(refresh_started_at=None)
    assert begun.exists(), "none was killed while it refreshed"
    earlier = clock.now() - timedelta(minutes=1)  # as if all leases had run out
    begun.update(refresh_started_at=earlier, refresh_lease_until=earlier, refresh_due_at=earlier)
    until(lambda: not begun.exists(), "one sweep has looked after all that died", timeout=30)

    gone = {row.pk for row in strict.held if state(row) == "reauthorization_required"}
    assert gone, "none was killed between the provider's answer and the commit"
    assert len(gone) < len(strict.held)
    told = Event.objects.filter(agent=strict.known.row, type=GONE).values_list("data__id", flat=True)
    assert sorted(told) == sorted(gone), "each told once, and nobody else"
    for one in (strict, lenient):
        for row in one.held:
            answer = one.agent.post(f"/v1/connections/{row.pk}/token")
            assert answer.status_code == (409 if row.pk in gone else 200), answer.text
            assert row.pk in gone or one.double.live(answer.json()["access_token"])


def die_unheard(crashing: Crashing, one: Refreshing) -> None:
    """The provider has taken the refresh token and given a new one, and the process is gone before it hears of it."""
    pid, answer = crashing.pid, next(route for name, route in one.double.routes().values() if name == "token")

    def kill_and_answer(request: Request) -> Response:
        given = answer(request)
        os.kill(pid, signal.SIGKILL)
        return given

    one.double.scripted["token"] = kill_and_answer
    one.begin()
    del one.double.scripted["token"]
    crashing.back(pid)


def state(row: Connection) -> str:
    return Connection.objects.get(pk=row.pk).status
