"""One elicitation through all processes: created at one, answered at another, delivered by the worker."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import pytest

from tests.journey.stage import Stage
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow


@pytest.fixture
def stage(full_box: Box, corp: Op, drive: Op) -> Stage:
    return Stage(full_box, full_box.fresh_agent(), corp, drive)


@contextmanager
def resting(box: Box, name: str) -> Iterator[None]:
    """Within the block the process does nothing."""
    box.pause(name)
    try:
        yield
    finally:
        box.resume(name)


@contextmanager
def other_process(stage: Stage) -> Iterator[httpx2.Client]:
    """The agent's client at the second web process."""
    with httpx2.Client(base_url=stage.box.urls[1], headers=stage.agent.headers, trust_env=False, timeout=30) as client:
        yield client


def told(sink: Sink, hook: str, about: str) -> list[str]:
    """The types of the events that came in about an elicitation or a connection."""
    return [delivery.event["type"] for delivery in sink.received(hook) if delivery.event["data"]["id"] == about]


def test_a_flow_is_finished_by_processes_that_share_nothing_but_the_stores(
    stage: Stage, http_user: HttpUser, sink: Sink
) -> None:
    first, second = stage.box.urls
    hook = f"/{stage.agent.slug}"
    with resting(stage.box, "worker"), ThreadPoolExecutor(1) as pool:
        asked = stage.ask()
        waiting = pool.submit(stage.agent.get, f"/v1/elicitations/{asked['id']}?wait=20&after_seq=3")
        callback = stage.answer(http_user, asked)
        back = http_user.get(callback.replace(first, second))
        assert back.status_code == 303, back.text
        answered = waiting.result(timeout=20).json()
        assert answered["status"] == "completed"
        assert told(sink, hook, asked["id"]) == [], "no web process delivers"
    completed = sink.wait_for_event(hook, "elicitation.completed", asked["id"])
    assert completed.verify(stage.agent.webhook_secret)["data"] == answered

    access = stage.token(asked).json()["access_token"]
    with resting(stage.box, "worker"), other_process(stage) as other:
        connection = answered["result"]["connection"]
        assert other.delete(f"/v1/connections/{connection}").status_code == 204
        assert stage.agent.post(f"/v1/connections/{connection}/token", json={}).status_code == 410
        assert stage.userinfo(access).status_code == 200, "no web process tells the provider"
    stage.revoked_upstream(access)
    until(lambda: told(sink, hook, connection), "the worker tells of the revocation")


def test_a_reader_at_one_process_is_told_what_happened_at_the_other(stage: Stage) -> None:
    with other_process(stage) as other, ThreadPoolExecutor(1) as pool:
        reading = pool.submit(other.get, "/v1/events", params={"wait": 20})
        asked = stage.ask()
        assert [event["elicitation"] for event in reading.result(timeout=20).json()["data"]] == [asked["id"]]
