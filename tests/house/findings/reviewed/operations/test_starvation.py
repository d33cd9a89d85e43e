"""F1: an agent's endpoint that hangs takes both places of the worker, and nothing of anybody else is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.journey.stage import Stage
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.sink import Sink

LONG_AGO = "2020-01-01 00:00:00+00"
GIVE_UP = 25.0  # seconds, for what is due and takes one
SETTLED = 4.0  # seconds for which the endpoint has hung


@pytest.fixture
def stage(new_box: Callable[..., Box], corp: Op, drive: Op) -> Iterator[Stage]:
    box = new_box("full")
    yield Stage(box, box.fresh_agent(), corp, drive)
    box.remove()


@contextmanager
def asking(stage: Stage, agent: AgentClient) -> Iterator[None]:
    """One question a second by the agent whose endpoint hangs."""
    over = threading.Event()

    def ask() -> None:
        while not over.wait(1.0):
            stage.ask(kind="confirm", params={}, agent=agent)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def took(stage: Stage) -> dict[str, float]:
    """Seconds until each thing that falls due now is done; inf where it was not within GIVE_UP."""
    overdue = stage.ask(kind="confirm", params={})
    began = time.monotonic()
    stage.sql("UPDATE elicit_flows_connection SET refresh_due_at = %s", LONG_AGO)
    stage.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", LONG_AGO, overdue["id"])
    due: dict[str, tuple[str, str]] = {
        "refreshed": ("SELECT count(*) FROM elicit_flows_connection WHERE refresh_due_at <= %s", LONG_AGO),
        "expired": (
            "SELECT count(*) FROM elicit_flows_elicitation WHERE status = 'pending' AND id = %s",
            overdue["id"],
        ),
    }
    found = dict.fromkeys(due, float("inf"))
    while due and time.monotonic() < began + GIVE_UP:
        for name in [name for name, (left, value) in due.items() if stage.sql(left, value) == [(0,)]]:
            found[name] = time.monotonic() - began
            del due[name]
        time.sleep(0.1)
    return found


@pytest.mark.limit(150)
def test_t129_an_endpoint_that_hangs_delays_nobody_else(stage: Stage, http_user: HttpUser, sink: Sink) -> None:
    stage.complete(http_user, stage.ask())
    without, hanging = took(stage), stage.box.fresh_agent()
    assert max(without.values()) < GIVE_UP
    sink.hang(f"/{hanging.slug}")
    with asking(stage, hanging):
        sink.wait_for(f"/{hanging.slug}", 2)
        time.sleep(SETTLED)
        beside = took(stage)
    sink.ok(f"/{hanging.slug}")
    assert max(beside.values()) < GIVE_UP, f"without it {without}"
