"""F20: a client that waits at one web process is told of a callback at another, by Redis or PostgreSQL's NOTIFY."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from tests.journey.stage import TERMINAL, Json, Stage
from tests.support.box import Box
from tests.support.fixtures import configure_box
from tests.support.http_user import HttpUser
from tests.support.machine import within
from tests.support.op import Op
from tests.support.process import Process
from tests.support.services import Postgres, Redis
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

QUICK = 10.0  # seconds: far below the half minute after which these processes look by themselves


class HearingBox(Box):
    """Web processes that have to be woken, see ``hearing.py``."""

    def _process(self, name: str, *command: str) -> Process:
        assert command[0] == "manage.py"
        return super()._process(name, "-m", "tests.events.hearing", *command[1:])


@pytest.fixture(params=["redis", "notify"])
def two_webs(
    request: pytest.FixtureRequest, postgres: Postgres, corp_server: Op, drive_server: Op, sink: Sink
) -> Iterator[Box]:
    redis: Redis | None = request.getfixturevalue("redis") if request.param == "redis" else None
    box = HearingBox("embedded", postgres.database(), redis.database() if redis else None, webs=2)
    with ExitStack() as stack:
        stack.callback(box.remove)
        configure_box(box, corp_server, drive_server, sink)
        yield box.start()


@pytest.fixture
def second(two_webs: Box) -> Iterator[Callable[[Stage], httpx2.Client]]:
    """The agent at the second web process."""
    with ExitStack() as stack:

        def make(stage: Stage) -> httpx2.Client:
            headers = {"authorization": f"Bearer {stage.agent.api_key}"}
            client = httpx2.Client(base_url=two_webs.urls[1], headers=headers, trust_env=False, timeout=40)
            return stack.enter_context(client)

        yield make


@contextmanager
def stream(client: httpx2.Client) -> Iterator[Iterator[str]]:
    """The types of events, as they come."""
    with client.stream("GET", "/v1/events", headers={"accept": "text/event-stream"}) as answer:
        lines = (line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: "))
        yield (json.loads(line)["type"].removeprefix("elicitation.") for line in lines)


def wait_for_the_end(client: httpx2.Client, asked: Json) -> tuple[Json, float]:
    """Long-polls; how it ended, and when that was heard."""
    found = asked
    while found["status"] not in TERMINAL:
        found = client.get(f"/v1/elicitations/{asked['id']}", params={"wait": 30, "after_seq": found["seq"]}).json()
    return found, time.monotonic()


def test_f20_a_callback_at_one_web_process_wakes_the_waiters_of_another(
    two_webs: Box, second: Callable[[Stage], httpx2.Client], http_user: HttpUser, corp: Op, drive: Op
) -> None:
    stage = Stage(two_webs, two_webs.agent("drive-bot"), corp, drive)
    client, asked = second(stage), stage.ask()
    stage.answer(http_user, asked)
    with ThreadPoolExecutor(1) as pool, stream(client) as types:
        assert [next(types), next(types)] == ["created", "started"], "it has read what there is, and waits"
        ended = pool.submit(wait_for_the_end, client, stage.look(asked))
        began = time.monotonic()
        http_user.follow()
        assert http_user.page_status == "completed"
        assert [next(types), next(types)] == ["settling", "completed"]
        assert time.monotonic() - began < within(QUICK)
        found, heard = ended.result(QUICK)
    assert found["status"] == "completed"
    assert heard - began < QUICK
