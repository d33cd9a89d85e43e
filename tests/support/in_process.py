"""The databases of tests that run the code inside the test process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connections
from pytest_django import DjangoDbBlocker

from config import env
from elicit_flows.api import auth
from elicit_flows.brands import page_brand
from elicit_flows.elicitations import agent_access, notify, payment
from elicit_flows.jobs import readiness
from elicit_flows.lib import http_answers, rate_limits, thread_pools
from tests.support.environment import FULL, HOME
from tests.support.process import PROJECT
from tests.support.services import Postgres

thread_pools.strict = True  # a view that asks outside without saying so fails
# A test that writes holds SQLite's lock, and every check of the database would wait for it.
readiness.BUSY = 10  # milliseconds


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
def django_db_setup(
    request: pytest.FixtureRequest, in_process_services: None, django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
) -> None:  # fmt: skip
    """A copy of a migrated database, where pytest-django would migrate one in each worker.

    A file, as in production: an in-memory SQLite locks tables, not the file, and fails where a file would wait.
    """
    if FULL:
        url = str(request.getfixturevalue("postgres").database())
    else:
        shutil.copy(request.getfixturevalue("migrated_sqlite"), HOME / "test.sqlite3")
        url = f"sqlite:///{HOME}/test.sqlite3"
    with django_db_blocker.unblock():
        _point_default_at(url)


@pytest.fixture(autouse=True)
def _postgres_if_marked(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("postgres") and not FULL:
        request.getfixturevalue("on_postgres")


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    """A process knows agents and accounts by their numbers for a while; another test's rows have the same numbers.

    All tests come from one address, so what one counted against a limit is no concern of the next.
    """
    agent_access.forget()
    notify.forget()
    page_brand.forget()
    auth.remembered.clear()
    auth.known.clear()
    payment.slow_accounts.forget()
    rate_limits.forget()
    readiness.forget()
    http_answers.forget()


@contextmanager
def default_database(url: str, blocker: DjangoDbBlocker) -> Iterator[None]:
    """Within the block ``url`` is the default database, committed to for real."""
    before = connections.settings["default"], connections["default"]
    with blocker.unblock():
        _point_default_at(url)
        ContentType.objects.clear_cache()  # its rows have other ids in another database
        try:
            yield
        finally:
            connections["default"].close()
            connections.settings["default"], connections["default"] = before
            ContentType.objects.clear_cache()


@pytest.fixture
def on_postgres(postgres: Postgres, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The default database is a fresh one on PostgreSQL, committed to for real; gives its address."""
    url = postgres.database()
    with default_database(url, django_db_blocker):
        yield url
    postgres.drop(url)
