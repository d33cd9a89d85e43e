"""Boxes to be broken: each module that asks gets its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.cast import Program
from tests.faults.crashing import Crashing, CrashingWorker
from tests.payments.conftest import new_till, tills  # noqa: F401  fixtures of theirs
from tests.payments.till import unused
from tests.support import box_config, fixtures
from tests.support.box import AgentClient, Box
from tests.support.services import Postgres, Redis

# What a sweep does is not what is cut off: it comes as seldom as in life.
SELDOM = {"DJANGO_SETTINGS_MODULE": "config.settings"}


@pytest.fixture(scope="session")
def new_crashing(new_box: Callable[..., Box], postgres: Postgres) -> Iterator[Callable[[str], Crashing]]:
    """A box of one process on ``sqlite`` or ``postgresql``, its web process under the supervisor."""
    with ExitStack() as stack:

        def make(database: str) -> Crashing:
            options = {"database_url": postgres.database()} if database == "postgresql" else {}
            crashing = Crashing(new_box("embedded", start=False, kept="new_crashing", settings=SELDOM, **options))
            stack.callback(crashing.box.remove)
            crashing.box.start()
            return crashing

        yield make


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def crashing_box(request: pytest.FixtureRequest, new_crashing: Callable[[str], Crashing]) -> Crashing:
    return new_crashing(request.param)


@pytest.fixture(scope="session")
def crashing_worker(new_box: Callable[..., Box]) -> CrashingWorker:
    """A worker of its own, with PostgreSQL and Redis."""
    box = new_box("full", start=False, kept="crashing_worker", settings=SELDOM)
    crashing = CrashingWorker(box)
    box.start()
    return crashing


@pytest.fixture
def crashing(crashing_box: Crashing) -> Crashing:
    """The sweep runs on either database in turn."""
    crashing_box.kills = 0
    return crashing_box


@pytest.fixture(scope="session")
def quiet_agents() -> Callable[..., AgentClient]:
    """Agents without webhooks that nobody used before: what a process does is done for their requests."""
    known: dict[tuple[str, str], Iterator[Program]] = {}

    def agent(box: Box, name: str = "quiet", **more: Any) -> AgentClient:
        """Those of one ``name`` have ``more`` in their tables."""
        if (box.url, name) not in known:
            known[box.url, name] = unused(box, partial(box_config.agent, **more), name=name)
        return box.agent(next(known[box.url, name]).slug)

    return agent


@pytest.fixture
def quiet_agent(crashing: Crashing, quiet_agents: Callable[..., AgentClient]) -> AgentClient:
    return quiet_agents(crashing.box)


@dataclass
class Fragile:
    """A box whose servers may be killed: two web processes, worker and beat on servers of their own."""

    box: Box
    postgres: Postgres
    redis: Redis


@pytest.fixture(scope="session")
def fragile_servers() -> Iterator[tuple[Postgres, Redis]]:
    servers = fixtures.new_postgres(), fixtures.new_redis()
    yield servers
    for server in servers:
        server.remove()


@pytest.fixture(scope="session")
def fragile_box(fragile_servers: tuple[Postgres, Redis], new_box: Callable[..., Box]) -> Fragile:
    postgres, redis = fragile_servers
    box = new_box("full", database_url=postgres.database(), redis_url=redis.database(), webs=2, kept="fragile_box")
    return Fragile(box, postgres, redis)


@pytest.fixture
def fragile(fragile_box: Fragile) -> Iterator[Fragile]:
    """Whole at the start of a test and whole again at its end."""
    yield fragile_box
    for server in (fragile_box.postgres, fragile_box.redis):
        server.resume()
        if not server.process.alive:
            server.restart()
    for name in fragile_box.box.webs:
        fragile_box.box.wait_ready(name)
