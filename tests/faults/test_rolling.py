"""A rolling restart: two web processes behind the proxy that ships, and nobody notices. Slow.

Agents ask, read, wait and cancel all the time, over new connections, while each process is ended by SIGTERM and started
again, as docs/how-to/upgrade.md says.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.cast import ALICE
from tests.support.box import AgentClient, Box
from tests.support.fixtures import configure_box
from tests.support.nginx import Nginx
from tests.support.op import Op
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.services import Postgres, Redis
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

CALLERS = 4
WAITERS = 6
ROUNDS = 2
WAIT = 2  # seconds, as agents' ?wait=


@pytest.fixture
def pair(
    postgres: Postgres, redis: Redis, corp_server: Op, drive_server: Op, sink: Sink
) -> Iterator[tuple[Box, Nginx]]:
    port = free_port()
    settings = {"ELICIT_PUBLIC_URL": f"http://127.0.0.1:{port}", "ELICIT_TRUSTED_PROXIES": "127.0.0.1"}
    box = Box("full", postgres.database(), redis.database(), webs=2, settings=settings)
    web, waiting = (f"127.0.0.1:{port}" for port in box.ports)
    proxy = Nginx({"web": web, "waiting": waiting}, port=port)
    configure_box(box, corp_server, drive_server, sink)
    try:
        box.start()
        yield box, proxy.start()
    finally:
        proxy.remove()
        box.remove()


class Traffic:
    """What agents do until told to stop, and every answer that was not the one they should have had."""

    def __init__(self, agent: AgentClient, url: str, issuer: str) -> None:
        self.url, self.issuer = url, issuer
        self.headers = {"authorization": f"Bearer {agent.api_key}"}
        self.over = threading.Event()
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []

    def call(self, method: str, path: str, status: int, json: object = None) -> dict[str, object]:
        """One request on a connection of its own, as of an agent that has just begun."""
        try:
            with httpx2.Client(base_url=self.url, headers=self.headers, trust_env=False, timeout=60) as client:
                answer = client.request(method, path, json=json)
        except httpx2.TransportError as error:
            self.wrong.append(f"{method} {path}: {error!r}")
            return {}
        self.answers[f"{method} {answer.status_code}"] += 1
        if answer.status_code != status:
            self.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
            return {}
        return dict(answer.json())

    def ask(self) -> str:
        body = {"kind": "confirm", "message": "May I?", "params": {}, "subject": ALICE.subject(self.issuer)}
        return str(self.call("POST", "/v1/elicitations", 201, body).get("id", ""))

    def call_on(self) -> None:
        while not self.over.is_set():
            asked = self.ask()
            if asked:
                self.call("GET", f"/v1/elicitations/{asked}", 200)
                self.call("POST", f"/v1/elicitations/{asked}/cancel", 200, {})

    def wait_on(self) -> None:
        asked = self.ask()
        while asked and not self.over.is_set():
            self.call("GET", f"/v1/elicitations/{asked}?wait={WAIT}", 200)


def run(traffic: Traffic, restart: Callable[[], None]) -> None:
    with ThreadPoolExecutor(CALLERS + WAITERS) as pool:
        work = [traffic.call_on] * CALLERS + [traffic.wait_on] * WAITERS
        ending = [pool.submit(one) for one in work]
        try:
            time.sleep(1)
            restart()
            time.sleep(1)
        finally:
            traffic.over.set()
        for one in ending:
            one.result()


@pytest.mark.limit(300)
def test_f21_each_of_two_webs_is_restarted_and_no_request_is_refused(pair: tuple[Box, Nginx]) -> None:
    box, proxy = pair
    traffic = Traffic(box.fresh_agent(), proxy.url, box.tables["identity_provider"][0]["issuer"])

    def roll() -> None:
        for _ in range(ROUNDS):
            for name in box.webs:
                before = sum(traffic.answers.values())
                box.restart(name)
                # Who waited there waits at the other now, and no longer than this.
                time.sleep(WAIT + 1)
                assert sum(traffic.answers.values()) > before, "there was traffic meanwhile"

    run(traffic, roll)
    assert traffic.wrong == []
    assert set(traffic.answers) == {"POST 201", "GET 200", "POST 200"}


@pytest.mark.limit(300)
def test_without_the_other_the_traffic_notices(pair: tuple[Box, Nginx]) -> None:
    """Shows that the test above can fail: with both processes stopped, clients notice."""
    box, proxy = pair
    traffic = Traffic(box.fresh_agent(), proxy.url, box.tables["identity_provider"][0]["issuer"])

    def stop_all() -> None:
        for name in box.webs:
            box.stop(name)
        before = len(traffic.wrong)
        until(lambda: len(traffic.wrong) > before, "a caller is refused")

    run(traffic, stop_all)
    assert any(" 502 " in line for line in traffic.wrong)
