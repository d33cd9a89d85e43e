"""F4: the service is killed at each outside call of a payment. Afterwards everybody continues as usual."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.faults.crashing import Crashing, CrashingWorker
from tests.faults.payment_ways import WAYS, Way
from tests.payments.history.rules import check
from tests.payments.till import Till
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser

pytestmark = pytest.mark.slow

POINTS = int(os.environ.get("CRASH_POINTS", "4"))  # of each system call of a part, spread evenly
PROVIDER = ("sendto", "recvfrom")


@pytest.fixture
def quiet_till(new_till: Callable[[Box], Till], quiet_agents: Callable[..., AgentClient]) -> Callable[[Box], Till]:
    """Nothing is delivered to its agent: what is killed is at work for the payment."""

    def make(box: Box) -> Till:
        till = new_till(box)
        till.agent = quiet_agents(box, "paid", payment_accounts=["sandbox"])
        return till

    return make


@pytest.mark.parametrize("part", [part for part in WAYS if part != "charge when due"])
@pytest.mark.limit(180)
def test_f4_wherever_it_is_killed_what_was_paid_is_told_and_what_was_told_is_paid(
    crashing: Crashing, quiet_till: Callable[[Box], Till], http_user: HttpUser, part: str
) -> None:
    check_sweep(crashing, WAYS[part](quiet_till(crashing.box), http_user))


@pytest.mark.parametrize("part", ["webhook", "refund", "charge when due"])
@pytest.mark.limit(180)
def test_f4_wherever_a_worker_is_killed_what_was_paid_is_told_and_what_was_told_is_paid(
    crashing_worker: CrashingWorker, quiet_till: Callable[[Box], Till], http_user: HttpUser, part: str
) -> None:
    crashing_worker.kills = 0
    check_sweep(crashing_worker, WAYS[part](quiet_till(crashing_worker.box), http_user))


def check_sweep(crashing: Crashing, way: Way) -> None:
    """Every payment and charge was taken once and told once, every refund made once, every page closed."""
    sweep(crashing, way)
    done = way.history()
    assert check(done) == []
    moved = [line["op"] for line in done]
    assert (moved.count("captured"), moved.count("returned")) == way.moved()


def sweep(crashing: Crashing, way: Way) -> None:
    """Cuts the way at every point of the service's system calls, once each; afterwards all has come to rest."""
    run = secrets.token_hex(4)
    way.prepare(f"{run} warm")
    way.act()
    way.again()

    def watched() -> Iterator[Callable[[], object]]:
        for number in range(2):
            way.prepare(f"{run} watched {number}")
            yield way.act
            way.again()

    points = crashing.points(watched(), dict.fromkeys((*PROVIDER, *crashing.speech)), POINTS)
    for point in points:
        way.prepare(f"{run} {point.call} {point.nth}")
        with crashing.at(point):
            former = crashing.pid
            way.gone = lambda former=former: crashing.pid != former
            way.act()
        way.again()
    assert crashing.met(points)
    way.come_to_rest()
