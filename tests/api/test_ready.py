"""/readyz finds out whether the database is away, read-only, or of another version."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.test import Client
from pytest_django import DjangoDbBlocker

from elicit_flows.jobs import metrics_store, readiness
from elicit_flows.lib import clock, health
from elicit_flows.models import Health, Tally
from tests.support.in_process import default_database
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.services import Postgres

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def new_look() -> Iterator[None]:
    readiness.forget()
    yield
    readiness.forget()


def asked() -> tuple[int, dict[str, object]]:
    answer = Client().get("/readyz")
    return answer.status_code, answer.json()


def test_a_database_that_is_away(django_db_blocker: DjangoDbBlocker) -> None:
    with default_database(f"postgres://nobody@127.0.0.1:{free_port()}/nothing", django_db_blocker):
        status, said = asked()
    assert status == 503
    assert (said["status"], said["database"]) == ("unavailable", "does not answer")
    assert not {"schema", "worker"} & set(said), "nobody knows"


def test_a_database_that_takes_nothing(on_postgres: str) -> None:
    with psycopg.connect(on_postgres, autocommit=True) as admin:
        name = admin.info.dbname
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        status, said = asked()
        assert (status, said["database"]) == (503, "not writable")
        admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    until(lambda: asked()[0] == 200, "it is ready again")


def test_a_database_without_room(migrated_sqlite: Path, tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> None:
    """Small writes still fit into existing pages. Only after a failed write does the check need new pages."""
    file = tmp_path / "db"
    file.write_bytes(migrated_sqlite.read_bytes())

    def grow_no_more(connection: BaseDatabaseWrapper, **_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1")  # no less than it has: SQLite says that its disk is full

    connection_created.connect(grow_no_more)
    try:
        with default_database(f"sqlite:///{file}", django_db_blocker):
            assert asked()[0] == 200
            rows = [Tally(hour=clock.now(), name="x", labels=f"{number} {'.' * 150}") for number in range(500)]
            with pytest.raises(OperationalError, match="full"):
                Tally.objects.bulk_create(rows)
            readiness.suspect()
            status, said = asked()
            assert (status, said["database"]) == (503, "not writable")
            connection_created.disconnect(grow_no_more)
            until(lambda: asked()[0] == 200, "there is room again")
            assert not Tally.objects.exists(), "what a look writes it takes back"
    finally:
        connection_created.disconnect(grow_no_more)


def test_a_database_of_another_version(on_postgres: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'elicit_flows'")
    status, said = asked()
    assert (status, said["schema"]) == (503, "not this version's")


def test_a_database_that_hangs_makes_nobody_wait(on_postgres: str, postgres: Postgres) -> None:
    """Another session has locked the row that the check writes. The answer comes in time, and the next check is a new
    one.
    """
    assert asked()[0] == 200
    with psycopg.connect(on_postgres) as holder:
        holder.execute("LOCK TABLE elicit_flows_tally IN ACCESS EXCLUSIVE MODE")
        readiness.forget()
        began = time.monotonic()
        status, said = asked()
        assert (status, said["database"]) == (503, "does not answer")
        assert time.monotonic() - began < readiness.STATEMENT / 1000
    until(lambda: asked()[0] == 200, "it is ready again")


def test_many_who_ask_are_one_look(committed: None) -> None:
    before = threading.active_count()
    assert [asked()[0] for _ in range(20)] == [200] * 20
    assert threading.active_count() <= before + 1


def test_a_redis_that_is_away_is_said_and_is_no_reason_to_go_elsewhere(committed: None, settings: LazySettings) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    settings.CACHES = {
        "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": settings.REDIS_URL},
    }
    status, said = asked()
    assert (status, said["redis"]) == (200, "does not answer")


def test_a_worker_that_is_late_is_said_and_is_no_reason_to_go_elsewhere(committed: None) -> None:
    health.drain()
    health.succeeded(health.JOB, "deliver")
    metrics_store.keep()
    assert asked()[1]["worker"] == "runs"
    Health.objects.update(ok_at=clock.now() - timedelta(minutes=4))
    readiness.forget()
    status, said = asked()
    assert (status, said["worker"]) == (200, "late")
