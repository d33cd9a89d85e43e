"""Boxes to be broken: each module that asks gets its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.cast import program
from tests.faults.crashing import Crashing, CrashingWorker
from tests.payments.conftest import new_till, tills  # noqa: F401  fixtures of theirs
from tests.support import box_config, fixtures
from tests.support.box import AgentClient, Box
from tests.support.services import Postgres, Redis


@pytest.fixture(scope="session")
def new_crashing(new_box: Callable[..., Box], postgres: Postgres) -> Iterator[Callable[[str], Crashing]]:
    """A box of one process on ``sqlite`` or ``postgresql``, its web process under the supervisor."""
    with ExitStack() as stack:

        def make(database: str) -> Crashing:
            options = {"database_url": postgres.database()} if database == "postgresql" else {}
            crashing = Crashing(new_box("embedded", start=False, **options))
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
    box = new_box("full", start=False)
    crashing = CrashingWorker(box)
    box.start()
    return crashing


@pytest.fixture
def crashing(crashing_box: Crashing) -> Crashing:
    """The sweep runs on either database in turn."""
    crashing_box.kills = 0
    return crashing_box


@pytest.fixture
def quiet_agent(crashing: Crashing) -> AgentClient:
    """A new agent without webhooks: what the web process does is done for its requests."""
    who = program(f"quiet-{secrets.token_hex(4)}")
    crashing.box.apply({"agent": [box_config.agent(who)]})
    crashing.box.programs[who.slug] = who
    return crashing.box.agent(who.slug)


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
    box = new_box("full", database_url=postgres.database(), redis_url=redis.database(), webs=2)
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
