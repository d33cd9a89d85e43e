"""T71: the limits on waiting requests, what each of them costs, and slow clients."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from django.conf import LazySettings

from elicit_flows.lib import http_server, wsgi_bridge
from elicit_flows.models import Provider
from tests.cast import ALICE
from tests.support import rows
from tests.support.box import AgentClient, Box
from tests.support.machine import within
from tests.support.op import Op
from tests.support.process import until
from tests.support.rows import Known, question
from tests.support.serving import Served

WAITERS = 300


@pytest.fixture
def narrow(committed: None, settings: LazySettings, serve: Callable[..., Served]) -> Served:
    """Admits three waiting requests, two of one agent."""
    settings.ELICIT_MAX_WAITERS, settings.ELICIT_MAX_WAITERS_PER_AGENT = 3, 2
    rows.provider()
    return serve()


@contextlib.contextmanager
def open_streams(served: Served, *agents: Known) -> Iterator[list[httpx2.Response]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                stack.enter_context(one.client(served.url)).stream(
                    "GET", "/v1/events", headers={"accept": "text/event-stream"}
                )
            )
            for one in agents
        ]


def test_t71_one_agent_cannot_take_every_place(narrow: Served) -> None:
    one, other = rows.agent(), rows.agent()
    with open_streams(narrow, one, one), one.client(narrow.url) as greedy, other.client(narrow.url) as modest:
        for path in ("/v1/events?wait=1", "/v1/elicitations/none?wait=1"):
            refused = greedy.get(path)
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
            assert int(refused.headers["retry-after"]) > 0
        assert greedy.get("/v1/events").status_code == 200, "what does not wait is not counted"
        assert modest.get("/v1/events?wait=0").status_code == 200
    until(lambda: narrow.waiting == 0, "the places are free again")
    with one.client(narrow.url) as greedy:
        assert greedy.get("/v1/events?wait=0").status_code == 200


def test_t71_a_full_process_says_so_and_when_to_come_back(narrow: Served) -> None:
    agents = [rows.agent() for _ in range(4)]
    with open_streams(narrow, *agents[:3]), agents[3].client(narrow.url) as late:
        refused = late.get("/v1/events?wait=1")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert int(refused.headers["retry-after"]) > 0
        assert late.post("/v1/elicitations", json=question()).status_code == 201
    until(lambda: narrow.waiting == 0, "the places are free again")


def test_a_wrong_key_takes_no_place(narrow: Served) -> None:
    with httpx2.Client(base_url=narrow.url, trust_env=False) as nobody:
        for _ in range(5):
            assert nobody.get("/v1/events?wait=20", headers={"authorization": "Bearer x"}).status_code == 401
    assert narrow.waiting == 0


@contextlib.contextmanager
def said_slowly(served: Served, beginning: bytes, count: int = 1) -> Iterator[list[socket.socket]]:
    at = urlsplit(served.url)
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection((str(at.hostname), int(at.port or 0)), timeout=10))
            one.sendall(beginning)
            found.append(one)
        yield found


def test_t71_a_request_whose_headers_do_not_end_is_cut_off(
    committed: None, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert http_server.HEADER_SECONDS <= 30
    monkeypatch.setattr(http_server, "HEADER_SECONDS", 0.5)
    served = serve()
    with said_slowly(served, b"GET /v1/events HTTP/1.1\r\nX: ", count=50) as slow:
        began = time.monotonic()
        for one in slow:
            with contextlib.suppress(OSError):
                while one.recv(1024):
                    one.sendall(b"x")
        assert time.monotonic() - began < within(5)


def test_t71_a_body_that_does_not_arrive_is_answered_408(
    committed: None, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wsgi_bridge.BODY_SECONDS <= 60
    monkeypatch.setattr(wsgi_bridge, "BODY_SECONDS", 0.3)
    served = serve()
    head = b"POST /v1/elicitations HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nContent-Type: application/json\r\n\r\n{"
    with said_slowly(served, head) as (slow,):
        answer = b""
        while b"}" not in answer and (piece := slow.recv(4096)):  # the head may come before the body
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too_slow"' in answer


def test_t71_slow_clients_hold_up_nobody(served: Served, known: Known, drive_row: Provider) -> None:
    """No thread waits for a body: a hundred unfinished requests leave all threads free."""
    head = b"POST /v1/elicitations HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nContent-Type: application/json\r\n\r\n{"
    with known.client(served.url) as quick:
        quick.post("/v1/elicitations", json=question())
        with said_slowly(served, head, count=100):
            began = time.monotonic()
            for _ in range(10):
                assert quick.post("/v1/elicitations", json=question()).status_code == 201
            assert time.monotonic() - began < within(3)


def threads_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().split("Threads:")[1].split()[0])


def sockets_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def connections_to(database_url: str) -> int:
    with psycopg.connect(database_url) as looking:
        found = looking.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone()
    assert found
    return int(found[0])


def pings(agent: AgentClient, count: int = 10) -> float:
    """The median of a quick call, in seconds; the best of many: what else the machine does comes and goes."""

    def median() -> float:
        time.sleep(0.15)
        return statistics.median(ping(agent) for _ in range(count))

    return min(median() for _ in range(15))


def ping(agent: AgentClient) -> float:
    began = time.perf_counter()
    assert agent.get("/v1/elicitations", params={"limit": 1}).status_code == 200
    return time.perf_counter() - began


@asynccontextmanager
async def waiting(agent: AgentClient, asked: str, count: int, pid: int) -> AsyncIterator[None]:
    options = {"base_url": agent.base_url, "headers": agent.headers, "trust_env": False, "timeout": 60}
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None), **options) as many:  # type: ignore[arg-type]
        before = sockets_of(pid)
        calls = [asyncio.create_task(many.get(f"/v1/elicitations/{asked}", params={"wait": 40})) for _ in range(count)]
        while sockets_of(pid) < before + count:
            assert not any(call.done() for call in calls), "a call was answered before the last one had begun"
            await asyncio.sleep(0.05)
        yield
        for call in calls:
            await call


@pytest.mark.slow
@pytest.mark.limit(240)
def test_t71_waiters_hold_no_thread_and_no_database_connection(several: Box, corp: Op) -> None:
    agent, other = several.fresh_agent(), several.fresh_agent()
    body = {"kind": "oauth", "subject": ALICE.subject(corp.issuer), "message": "…", "params": {"provider": "drive"}}
    asked = agent.post("/v1/elicitations", json=body).json()["id"]
    pid = several.pid("web")

    async def measure() -> tuple[tuple[int, int, float], tuple[int, int, float]]:
        async with waiting(agent, asked, 20, pid):  # all of the few threads that there are have started then
            agent.post(f"/v1/elicitations/{asked}/cancel")
        asked_again = agent.post("/v1/elicitations", json=body).json()["id"]
        none = threads_of(pid), connections_to(several.database_url), pings(other)
        async with waiting(agent, asked_again, WAITERS, pid):
            all_of_them = threads_of(pid), connections_to(several.database_url), pings(other)
            agent.post(f"/v1/elicitations/{asked_again}/cancel")
        return none, all_of_them

    none, all_of_them = asyncio.run(measure())
    assert all_of_them[0] <= none[0] + 2, "threads"
    assert all_of_them[1] <= none[1] + 2, "connections to the database"
    assert all_of_them[2] <= none[2] * 2 + within(0.05), "how quick another agent's call is"
