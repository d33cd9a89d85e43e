"""F9, F19: messages of the broker are hints only: a lost one loses no work, and a repeated one repeats none."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery import Celery
from kombu import Connection

from config.broker import Transport
from tests.cast import ALICE
from tests.support import box_settings
from tests.support.box import AgentClient, Box
from tests.support.machine import within
from tests.support.op import Op
from tests.support.process import until
from tests.support.services import Redis
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

POLL = box_settings.SWEEP_SECONDS
BUSY = 5.0  # seconds that a busy machine may take on top
RECONNECT = 10.0  # seconds until worker and beat have found the broker again


@pytest.fixture(scope="module")
def full(new_box: Callable[..., Box], broker: Redis) -> Iterator[Box]:
    """Web process, worker and beat with a broker that may be emptied and killed."""
    box = new_box("full", redis_url=broker.url())
    yield box
    box.remove()


@pytest.fixture
def agent(full: Box) -> AgentClient:
    return full.fresh_agent()


def ask(agent: AgentClient, corp: Op) -> str:
    body = {
        "kind": "oauth", "subject": ALICE.subject(corp.issuer), "message": "Connect your drive.",
        "params": {"provider": "drive"},
    }  # fmt: skip
    answer = agent.post("/v1/elicitations", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_f9_hints_that_died_with_a_worker_or_were_flushed_cost_a_poll_and_no_event(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    """Redis gives the first message to the stopped worker, which never acknowledges it. Redis forgets the second
    message.
    """
    full.pause("worker")
    first = ask(agent, corp)
    full.kill9("worker")
    second = ask(agent, corp)
    with broker.client() as client:
        assert client.llen("deliver"), "there was a hint"
        client.flushall()
    full.restart("worker")
    for asked in (first, second):
        sink.wait_for_event(f"/{agent.slug}", "elicitation.created", asked, timeout=POLL + BUSY)


def test_a_channel_makes_one_client_for_all_its_commands(broker: Redis) -> None:
    """Another one where its pool was given up, as after a lost connection."""
    with Connection(broker.url(), transport=Transport) as connection:
        channel = connection.channel()
        made = [_client_of(channel) for _ in range(2)]
        assert made[0] is made[1]
        channel._disconnect_pools()
        later = _client_of(channel)
        assert later is not made[0]
        assert later.connection_pool is channel.pool
        assert later.ping()


def _client_of(channel: Any) -> Any:
    with channel.conn_or_acquire() as client:
        return client


def test_f19_the_same_message_three_times_sends_once(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    def succeeded(task: str) -> int:
        return full.logs("worker").count(f"[{task}] succeeded")

    full.pause("worker")
    asked = [ask(agent, corp) for _ in range(20)]
    with Celery(broker=broker.url()) as messages:
        for _ in range(3):
            messages.send_task("elicit_flows.jobs.tasks.deliver", queue="deliver", task_id=f"deliver-{agent.slug}")
            messages.send_task("elicit_flows.jobs.tasks.expire", queue="expire", task_id=f"expire-{agent.slug}")
    full.resume("worker")
    for task in ("deliver", "expire"):
        until(lambda task=task: succeeded(f"{task}-{agent.slug}") == 3, f"three times {task}")  # type: ignore[misc]
    received = sink.wait_for(f"/{agent.slug}", len(asked))
    assert Counter(one.event["elicitation"] for one in received) == dict.fromkeys(asked, 1)
    assert len({one.id for one in received}) == len(asked)


def test_f9_while_the_broker_is_down_agents_are_answered_and_afterwards_told(
    full: Box, broker: Redis, agent: AgentClient, corp: Op, sink: Sink
) -> None:
    broker.kill9()
    began = time.monotonic()
    asked = [ask(agent, corp) for _ in range(10)]
    took = time.monotonic() - began
    assert took < within(5), "nobody waits for the broker again and again"
    found: dict[str, Any] = agent.get(f"/v1/elicitations/{asked[-1]}", params={"wait": 1}).json()
    assert found["status"] == "pending"
    broker.restart()
    for one in asked:
        sink.wait_for_event(f"/{agent.slug}", "elicitation.created", one, timeout=POLL + RECONNECT + BUSY)
