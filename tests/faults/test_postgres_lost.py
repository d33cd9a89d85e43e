"""F12: PostgreSQL is killed under load and restarted: nothing acknowledged is lost, and clients get an error."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

import httpx2
import pytest

from tests.faults.conftest import Fragile
from tests.journey.stage import Stage
from tests.support.box import Box
from tests.support.op import Op
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

CLIENTS, KILLS = 4, 2
BACK_WITHIN = 10.0  # seconds
REFUSED = 50
MINE = "JOIN elicit_flows_agent a ON a.id = e.agent_id WHERE a.slug = %s"


@dataclass
class Load:
    """Several clients that ask, each time with a new key, until they are told to stop."""

    stage: Stage
    acknowledged: dict[str, str] = field(default_factory=dict)
    refused: list[httpx2.Response] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> Load:
        self.threads = [threading.Thread(target=self.ask, args=(client,)) for client in range(CLIENTS)]
        for thread in self.threads:
            thread.start()
        return self

    def stop(self) -> None:
        """No answer is on its way any more."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(35)

    def ask(self, client: int) -> None:
        with httpx2.Client(base_url=self.stage.box.url, headers=self.stage.agent.headers, trust_env=False) as http:
            http.timeout = 30
            for number in itertools.count():
                if self.stopping.is_set():
                    return
                key = f"{client}-{number}"
                answer = self.create(http, key)
                if answer.status_code == 201:
                    self.acknowledged[key] = answer.json()["id"]
                else:
                    self.refused.append(answer)
                    self.stopping.wait(0.05)

    def create(self, http: httpx2.Client, key: str) -> httpx2.Response:
        body = {
            "kind": "oauth", "subject": {"iss": self.stage.corp.issuer, "sub": key}, "message": "…",
            "params": {"provider": "drive"},
        }  # fmt: skip
        return http.post("/v1/elicitations", json=body, headers={"idempotency-key": key})

    def more(self) -> None:
        """Waits until something more was acknowledged."""
        before = len(self.acknowledged)
        until(lambda: len(self.acknowledged) > before + CLIENTS, "creates are acknowledged again", timeout=BACK_WITHIN)

    def be_refused(self) -> None:
        before = len(self.refused)
        until(lambda: len(self.refused) >= before + CLIENTS, "clients are told", timeout=BACK_WITHIN)

    def insist(self, key: str) -> None:
        """Asks with this key until it is taken."""
        until(lambda: self.create(self.stage.agent, key).status_code in {200, 201}, "the key is taken")


@pytest.fixture
def under_load() -> Iterator[Callable[[Stage], Load]]:
    with ExitStack() as stack:

        def start(stage: Stage) -> Load:
            load = Load(stage).start()
            stack.callback(load.stop)
            return load

        yield start


@pytest.fixture(scope="module")
def embedded_on_postgres(
    fragile_servers: tuple[object, object], new_box: Callable[..., Box], fragile_box: Fragile
) -> Box:
    """One process with its worker inside, on the PostgreSQL that is killed."""
    return new_box("embedded", database_url=fragile_box.postgres.database())


@pytest.mark.parametrize("shape", ["full", "embedded"])
@pytest.mark.limit(90)
def test_f12_what_was_acknowledged_outlives_postgresql_and_the_service_comes_back_by_itself(
    request: pytest.FixtureRequest, fragile: Fragile, under_load: Callable[[Stage], Load], corp: Op, drive: Op,
    sink: Sink, shape: str,
) -> None:  # fmt: skip
    box: Box = fragile.box if shape == "full" else request.getfixturevalue("embedded_on_postgres")
    before = {name: process.pid for name, process in box.processes.items()}
    stage = Stage(box, box.fresh_agent(), corp, drive)
    load = under_load(stage)
    for _ in range(KILLS):
        load.more()
        fragile.postgres.kill9()
        load.be_refused()
        fragile.postgres.start()
    load.more()
    load.stop()

    listed = {row for (row,) in stage.sql("SELECT id FROM elicit_flows_elicitation")}
    assert set(load.acknowledged.values()) <= listed
    told = {event["elicitation"] for event in stage.feed()}
    assert set(load.acknowledged.values()) <= told
    for answer in load.refused:
        assert answer.status_code == 503, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["status"]) == ("unavailable", 503)
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    asked = stage.ask()
    sink.wait_for_event(f"/{stage.agent.slug}", "elicitation.created", asked["id"])
    assert {name: process.pid for name, process in box.processes.items() if process.alive} == before


def test_f12_the_same_key_again_after_the_outage_asks_once(
    fragile: Fragile, under_load: Callable[[Stage], Load], corp: Op, drive: Op
) -> None:
    stage = Stage(fragile.box, fragile.box.fresh_agent(), corp, drive)
    load = under_load(stage)
    load.more()
    fragile.postgres.kill9()
    load.be_refused()
    load.stop()
    fragile.postgres.start()
    lost = [answer.request.headers["idempotency-key"] for answer in load.refused]
    for key in lost:
        load.insist(key)
    keys = {*load.acknowledged, *lost}
    listed = stage.sql(f"SELECT idempotency_key FROM elicit_flows_elicitation e {MINE}", stage.agent.slug)
    assert sorted(key for (key,) in listed) == sorted(keys)
    assert stage.sql(f"SELECT count(*) FROM elicit_flows_event e {MINE}", stage.agent.slug) == [(len(keys),)]


def test_f12_pages_and_probes_say_so_while_postgresql_is_away(fragile: Fragile) -> None:
    fragile.postgres.kill9()
    for path in ("/account", "/c/el_unknown"):
        page = httpx2.get(fragile.box.url + path, headers={"cookie": "sessionid=x"}, trust_env=False, timeout=20)
        assert page.status_code == 503, page.text
        assert page.headers["retry-after"]
        assert 'data-page="refused"' in page.text
    assert httpx2.get(f"{fragile.box.url}/readyz", trust_env=False, timeout=20).status_code == 503
    for path in ("/healthz", "/livez"):
        assert httpx2.get(f"{fragile.box.url}{path}", trust_env=False, timeout=20).status_code == 200


def test_an_outage_is_told_without_tracebacks(
    fragile: Fragile, corp: Op, drive: Op, under_load: Callable[[Stage], Load]
) -> None:
    """Whichever job meets the error, and however often. tests/test_logs.py counts the lines."""
    stage = Stage(fragile.box, fragile.box.fresh_agent(), corp, drive)
    load = under_load(stage)
    load.more()
    before = len(fragile.box.logs("web"))
    fragile.postgres.kill9()
    until(lambda: len(load.refused) > REFUSED, "many are refused")
    load.stop()
    lines = [json.loads(line) for line in fragile.box.logs("web")[before:].splitlines() if line.startswith("{")]
    fragile.postgres.start()
    assert lines
    assert [line for line in lines if "trace" in line] == []


def test_f12_an_outage_that_nobody_noticed_costs_no_request(fragile: Fragile, corp: Op, drive: Op) -> None:
    stage = Stage(fragile.box, fragile.box.fresh_agent(), corp, drive)
    with ThreadPoolExecutor(12) as pool:  # so that every thread of the service has a connection
        list(pool.map(lambda _: stage.ask(), range(24)))
    fragile.postgres.kill9()
    fragile.postgres.start()
    for _ in range(8):
        assert stage.try_to_ask().status_code == 201
