"""The databases of tests that run the code inside the test process, rather than in a box."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from config import env
from elicit_flows.api import auth
from elicit_flows.flow import patience, permits
from tests.support.environment import FULL, HOME
from tests.support.process import PROJECT
from tests.support.services import Postgres


def _point_default_at(url: str) -> None:
    """Makes ``url`` the default database, for this thread now and for others when they connect."""
    connections["default"].close()
    settings = env.database("DATABASE_URL_OF_A_TEST", url, PROJECT)
    connections.settings["default"] = connections.configure_settings({"default": settings})["default"]
    connections["default"] = connections.create_connection("default")


@pytest.fixture(scope="session", autouse=FULL)
def in_process_services(request: pytest.FixtureRequest) -> None:
    """PostgreSQL and Redis, where the in-process tests were told that they would be."""
    if FULL:
        request.getfixturevalue("postgres")
        request.getfixturevalue("redis")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(in_process_services: None) -> None:
    """A file, as in production: an in-memory SQLite locks tables, not the file, and fails where a file would wait."""
    if not FULL:
        connections.settings["default"]["TEST"]["NAME"] = str(HOME / "test.sqlite3")


@pytest.fixture(autouse=True)
def _postgres_if_marked(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("postgres") and not FULL:
        request.getfixturevalue("on_postgres")


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    """A process knows agents and accounts by their numbers for a while; another test's rows have the same numbers."""
    permits.forget()
    auth._remembered.clear()
    patience._resting.clear()


@contextmanager
def default_database(url: str, blocker: DjangoDbBlocker) -> Iterator[None]:
    """Within the block ``url`` is the default database, committed to for real."""
    before = connections.settings["default"], connections["default"]
    with blocker.unblock():
        _point_default_at(url)
        yield
        connections["default"].close()
    connections.settings["default"], connections["default"] = before


@pytest.fixture
def on_postgres(postgres: Postgres, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The default database is a fresh one on PostgreSQL, committed to for real; gives its address."""
    url = postgres.database()
    with default_database(url, django_db_blocker):
        yield url
    postgres.drop(url)
