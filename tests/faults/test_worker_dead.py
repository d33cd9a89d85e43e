"""A worker that has stopped: metrics and incidents report it until one runs again, and the web process stays ready."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx2
import psycopg
import pytest

from tests.cast import ALICE
from tests.support.box import Box
from tests.support.ports import free_port
from tests.support.process import until

pytestmark = pytest.mark.slow

AGE_JOBS = "UPDATE elicit_flows_health SET ok_at = ok_at - interval '4 minutes' WHERE sort = 'job'"
AGE_DELIVERIES = "UPDATE elicit_flows_delivery SET next_at = next_at - interval '4 minutes' WHERE status = 'pending'"


class Watched:
    """A box, and what is said at its port for the network inside."""

    def __init__(self, box: Box, port: int) -> None:
        self.box, self.inside = box, f"http://127.0.0.1:{port}"

    def incidents(self) -> set[str]:
        answer = httpx2.get(f"{self.inside}/incidents", trust_env=False, timeout=20)
        return {one["alert"] for one in answer.json()["incidents"]}

    def metric(self, name: str) -> float:
        page = httpx2.get(f"{self.inside}/metrics", trust_env=False, timeout=20).text
        [found] = re.findall(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)
        return float(found)

    def ready(self) -> tuple[int, str]:
        answer = httpx2.get(f"{self.box.url}/readyz", trust_env=False, timeout=20)
        return answer.status_code, answer.json()["worker"]

    def later(self, statement: str) -> None:
        """As if four minutes had passed."""
        with psycopg.connect(self.box.database_url, autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture
def watched(new_box: Callable[..., Box]) -> Iterator[Watched]:
    port = free_port()
    box = new_box("full", settings={"ELICIT_METRICS_ADDRESS": f"127.0.0.1:{port}"})
    yield Watched(box, port)
    box.remove()


def test_a_dead_worker_is_found_and_passes(watched: Watched) -> None:
    box = watched.box
    until(lambda: watched.ready() == (200, "runs"), "the worker runs")
    assert watched.incidents() == set()
    box.stop("worker")
    box.stop("beat")
    watched.later(AGE_JOBS)
    agent = box.fresh_agent()
    asked = agent.post(
        "/v1/elicitations",
        json={
            "kind": "confirm", "message": "May I?", "params": {},
            "subject": ALICE.subject(box.tables["identity_provider"][0]["issuer"]),
        },
    )  # fmt: skip
    assert asked.status_code == 201, "who asks is not hit"
    watched.later(AGE_DELIVERIES)
    until(lambda: watched.ready() == (200, "late"), "the web process says so, and stays ready")
    assert watched.incidents() == {"ElicitWorkerDead", "ElicitDeliveriesLate"}
    assert watched.metric('elicit_oldest_due_seconds{what="delivery"}') > 180
    assert watched.metric('elicit_ready{of="worker"}') == 0
    for name in ("worker", "beat"):
        box.processes[name].start()
        box.wait_ready(name)
    until(lambda: watched.ready() == (200, "runs"), "the worker runs again", timeout=60)
    until(lambda: watched.incidents() == set(), "nothing is wrong any more", timeout=60)
    assert watched.metric('elicit_oldest_due_seconds{what="delivery"}') < 60
    assert watched.metric('elicit_ready{of="worker"}') == 1


def test_what_is_for_the_network_inside_is_there_alone(watched: Watched) -> None:
    for path in ("/metrics", "/incidents"):
        assert httpx2.get(watched.box.url + path, trust_env=False).status_code == 404
        assert httpx2.get(watched.inside + path, trust_env=False).status_code == 200
    for path in ("/", "/v1/agent", "/admin/", "/readyz"):
        assert httpx2.get(watched.inside + path, trust_env=False).status_code == 404


@pytest.mark.parametrize(
    ("address", "said"),
    [("9300", "it must be HOST:PORT"), (":9300", "it must be HOST:PORT"), ("127.0.0.1:0", "it must be HOST:PORT")],
)
def test_an_address_that_is_none_stops_the_start(embedded_box: Box, address: str, said: str) -> None:
    ran = embedded_box.manage("check", check=False, env={"ELICIT_METRICS_ADDRESS": address})
    assert ran.returncode
    assert said in ran.stderr


def test_an_address_that_is_taken_stops_the_start(embedded_box: Box) -> None:
    taken = f"127.0.0.1:{embedded_box.ports[0]}"
    ran = embedded_box.manage("serve", "--port", "0", check=False, env={"ELICIT_METRICS_ADDRESS": taken})
    assert ran.returncode
    assert f"ELICIT_METRICS_ADDRESS: {taken} cannot be used" in ran.stderr
