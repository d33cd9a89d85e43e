"""The backend for PostgreSQL: what runs most is prepared, and a connection that was ended is seen without asking."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import OperationalError, connection
from django.db.backends.utils import CursorWrapper
from django.db.utils import ConnectionHandler
from django.test.utils import CaptureQueriesContext
from psycopg.pq import Format

from config import env
from elicit_flows.lib.compiled_query import prepared_cursor
from elicit_flows.lib.postgresql.base import DatabaseWrapper
from tests.support.process import PROJECT, until
from tests.support.services import Postgres

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
ASK = "SELECT %s::int"
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1::int%%'"


def usual_cursor() -> CursorWrapper:
    return connection.cursor()


def asked(sql: str, *values: int, made: Callable[[], CursorWrapper] = usual_cursor) -> object:
    with made() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]


def next_request() -> None:
    """What Django does between two."""
    connection.close_if_unusable_or_obsolete()


def session() -> object:
    return asked("SELECT pg_backend_pid()")


def ended_by(postgres: Postgres, pid: object) -> None:
    postgres.execute(f"SELECT pg_terminate_backend({pid})")


def test_a_text_that_never_changes_is_prepared_once(on_postgres: str) -> None:
    assert [asked(ASK, number, made=prepared_cursor) for number in (1, 2, 3)] == [1, 2, 3]
    assert asked(PREPARED) == 1
    assert asked(ASK, 4) == 4, "and others are not"
    assert asked(PREPARED) == 1


def test_a_time_is_read_by_compiled_code_where_a_statement_is_prepared(on_postgres: str) -> None:
    read = []
    for made in (usual_cursor, prepared_cursor):
        with made() as cursor:
            cursor.execute("SELECT '2026-11-30 01:02:03.456789+02'::timestamptz, NULL::timestamptz, '{}'::jsonb")
            read.append(cursor.fetchone())
            loader = cursor.adapters.get_loader(cursor.description[0].type_code, Format.TEXT)
    assert read == [(datetime(2026, 11, 29, 23, 2, 3, 456789, UTC), None, "{}")] * 2
    assert {moment.tzinfo for moment, *_ in read} == {UTC}
    assert loader.__module__.startswith("psycopg_binary")


def test_nothing_is_prepared_where_that_is_off(on_postgres: str) -> None:
    database = env.database("DATABASE_URL_OF_A_TEST", on_postgres, PROJECT)
    env.prepare_nothing(database)
    other = ConnectionHandler({"default": database})["default"]
    try:
        assert isinstance(other, DatabaseWrapper)
        with other.prepared_cursor() as cursor:
            for number in range(8):
                cursor.execute(ASK, [number])
                assert cursor.fetchone() == (number,)
            cursor.execute("SELECT count(*) FROM pg_prepared_statements")
            assert cursor.fetchone() == (0,)
    finally:
        other.close()


def test_the_next_request_asks_no_server_whether_it_is_there(on_postgres: str) -> None:
    before = session()
    next_request()
    with CaptureQueriesContext(connection) as caught:
        assert asked(ASK, 1) == 1
    assert [query["sql"] for query in caught] == ["SELECT 1::int"]
    assert session() == before


@pytest.mark.parametrize("made", [usual_cursor, prepared_cursor])
def test_a_connection_that_was_ended_between_two_requests_is_made_anew(
    on_postgres: str, postgres: Postgres, made: Callable[[], CursorWrapper]
) -> None:
    before = session()
    ended_by(postgres, before)
    next_request()
    until(lambda: not connection.is_usable(), "the end has arrived")
    assert asked(ASK, 1, made=made) == 1
    assert session() != before


def test_one_that_was_ended_within_a_request_is_made_anew_for_the_next(on_postgres: str, postgres: Postgres) -> None:
    before = session()
    ended_by(postgres, before)
    with pytest.raises(OperationalError):
        asked("SELECT pg_sleep(60)")
    next_request()
    assert session() != before
