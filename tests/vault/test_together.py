"""Refreshes that are claimed and recorded together give the same results as single ones (T81, T82)."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from elicit_flows import vault
from elicit_flows.domain.values import Grant
from elicit_flows.models import Connection, Feed
from elicit_flows.vault import refresh
from elicit_flows.vault.refresh_job import Answer, settle_all
from tests.support import rows
from tests.support.process import until
from tests.support.rows import Known
from tests.vault.refreshing import access_token_of, now, told

MANY = 6
TOO_LONG = "x" * 33  # for its column


@pytest.fixture
def known(on_postgres: str) -> Known:
    return rows.agent()


@pytest.fixture
def due(known: Known) -> list[Connection]:
    """Connections whose tokens have run out, as the worker reads them."""
    at = rows.provider()
    held = [rows.connection(known, at, rows.grant(account=f"account-{number}")) for number in range(MANY)]
    rows.expire(*held)
    return [refresh.read(row) for row in held]


@pytest.fixture
def claimed(due: list[Connection]) -> list[Connection]:
    assert refresh.claim_all(due) == due
    return due


def answers(claimed: list[Connection]) -> list[Answer]:
    return [Answer(row, rows.grant()) for row in claimed]


def new_token(answer: Answer) -> str:
    assert isinstance(answer.outcome, Grant)
    return answer.outcome.access_token.reveal()


def written(row: Connection) -> bool:
    return now(row).generation == row.generation + 1


def locked_until(sql: str, key: object, release: threading.Event) -> threading.Thread:
    """Another transaction holds the row that ``sql`` locks until ``release``."""
    taken = threading.Event()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, [key])
            taken.set()
            release.wait(20)
        connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(10)
    return thread


LOCK_ROW = "SELECT 1 FROM elicit_flows_connection WHERE id = %s FOR UPDATE"
LOCK_FEED = "SELECT 1 FROM elicit_flows_feed WHERE agent_id = %s FOR UPDATE"


def test_a_look_where_nothing_is_due_reads_no_connection(known: Known) -> None:
    rows.connection(known, rows.provider())
    job = vault.Refreshes()
    with CaptureQueriesContext(connection) as said:
        assert not job.start_due()
    job.close()
    read = [query["sql"] for query in said.captured_queries if "account_label" in query["sql"]]
    assert (len(said), read) == (2, [])  # whose connections may be due, and which of them are


def test_many_are_claimed_in_one_statement_and_recorded_in_one_transaction(due: list[Connection]) -> None:
    with CaptureQueriesContext(connection) as claiming:
        assert refresh.claim_all(due) == due
    assert len(claiming.captured_queries) == 1
    assert {now(row).refresh_fence for row in due} == {1}
    given = answers(due)
    with CaptureQueriesContext(connection) as recording:
        assert settle_all(given) == []
    said = [query["sql"].split()[0] for query in recording.captured_queries]
    assert (said.count("BEGIN"), said.count("SAVEPOINT"), said.count("COMMIT")) == (1, MANY, 1)
    assert [access_token_of(answer.row) for answer in given] == list(map(new_token, given))
    assert told(due[0]) == ["connection.refreshed"] * MANY


def test_one_row_that_fails_undoes_nothing_but_itself(
    claimed: list[Connection], caplog: pytest.LogCaptureFixture
) -> None:
    given = answers(claimed)
    assert isinstance(given[2].outcome, Grant)
    given[2] = Answer(claimed[2], replace(given[2].outcome, token_type=TOO_LONG))
    assert settle_all(given) == []
    assert [written(row) for row in claimed] == [True, True, False, True, True, True]
    assert told(claimed[0]) == ["connection.refreshed"] * (MANY - 1), "of the one that failed nobody is told"
    still = now(claimed[2])
    assert (still.refresh_fence, still.refresh_lease_until) == (1, claimed[2].refresh_lease_until)
    assert f"connection {still.pk} could not be recorded" in caplog.text


def test_t81_one_whose_lease_was_lost_meanwhile_is_not_overwritten(claimed: list[Connection]) -> None:
    Connection.objects.filter(pk=claimed[1].pk).update(refresh_fence=2)
    assert settle_all(answers(claimed)) == []
    assert [written(row) for row in claimed] == [True, False, True, True, True, True]


def test_t81_of_two_who_claim_the_same_rows_one_gets_each(due: list[Connection]) -> None:
    seen = [refresh.read(row) for row in due]
    assert refresh.claim_all(due[:4]) == due[:4]
    assert refresh.claim_all(seen) == seen[4:]
    assert refresh.claim_all([refresh.read(row) for row in due]) == [], "all are leased"


def test_a_row_that_somebody_has_locked_is_neither_claimed_nor_waited_for(due: list[Connection]) -> None:
    release = threading.Event()
    thread = locked_until(LOCK_ROW, due[0].pk, release)
    assert refresh.claim_all(due) == due[1:]
    release.set()
    thread.join()


def test_a_row_that_somebody_has_locked_is_recorded_after_the_others(claimed: list[Connection]) -> None:
    release = threading.Event()
    thread = locked_until(LOCK_ROW, claimed[0].pk, release)

    def others_first() -> None:
        try:
            until(lambda: all(map(written, claimed[1:])), "the others are committed while the first is locked")
            assert not written(claimed[0])
        finally:
            release.set()
            connections.close_all()

    watching = threading.Thread(target=others_first)
    watching.start()
    assert settle_all(answers(claimed)) == []
    assert release.is_set(), "it was waited for"
    watching.join()
    thread.join()
    assert all(map(written, claimed))
    assert len(told(claimed[0])) == MANY


def test_t82_what_a_lost_database_did_not_take_is_recorded_when_it_is_back(claimed: list[Connection]) -> None:
    """The connection is cut when all rows are written and none is committed."""
    Feed.objects.get_or_create(agent=claimed[0].agent)
    release, given = threading.Event(), answers(claimed)
    thread = locked_until(LOCK_FEED, claimed[0].agent_id, release)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [backend] = cursor.fetchone()

    def cut() -> None:
        with connection.cursor() as cursor:
            until(lambda: _waits_for_a_lock(cursor, backend), "all rows are written, and the first is to be told")
            cursor.execute("SELECT pg_terminate_backend(%s)", [backend])
        connections.close_all()

    cutting = threading.Thread(target=cut)
    cutting.start()
    with pytest.raises(OperationalError):
        settle_all(given)
    cutting.join()
    release.set()
    thread.join()
    connection.close()
    assert not any(map(written, claimed))
    assert settle_all(given) == []
    assert [access_token_of(answer.row) for answer in given] == list(map(new_token, given))
    assert told(claimed[0]) == ["connection.refreshed"] * MANY


def _waits_for_a_lock(cursor: object, backend: int) -> bool:
    cursor.execute("SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s", [backend])  # type: ignore[attr-defined]
    return cursor.fetchone() == ("Lock",)  # type: ignore[attr-defined]
