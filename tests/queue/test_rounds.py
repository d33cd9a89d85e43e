"""T97, F8, F9 and what else the worker's rounds are held to."""

from __future__ import annotations

from django.db import connection

from tests.queue.posting import Hooked, deliver
from tests.support.sink import Sink


def connections_to_the_database() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_tasks_leave_no_database_connection_behind(on_postgres: str, receiver: Sink) -> None:
    """A Celery worker runs one every few seconds, for months."""
    hooked = Hooked.new(receiver)
    for _ in range(10):
        for _ in range(6):
            hooked.tell()
        deliver()
    assert connections_to_the_database() == 1
