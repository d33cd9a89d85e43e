"""What runs all the time finds its rows by an index: many that are over must not slow down the few that are open."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elicit_flows import flow, vault
from elicit_flows.models import Elicitation
from elicit_flows.values import Claim, Question
from elicit_flows.web import account
from tests.support import rows

WHOM = Claim(rows.ISSUER, "alice")


def _ask() -> object:
    return flow.create(rows.agent().row, Question("confirm", WHOM, "May I?", {}))


def _sweep() -> object:
    return flow.sweep()


def _waiting() -> object:
    return account._waiting(WHOM)


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("committed" if request.param == "SQLite" else "on_postgres")


@pytest.mark.parametrize("act", [_ask, _sweep, _waiting], ids=["create", "sweep", "account"])
def test_no_open_elicitation_is_looked_for_among_all(database: None, act: Callable[[], object]) -> None:
    with CaptureQueriesContext(connection) as caught:
        act()
    asked = [one["sql"] for one in caught.captured_queries if _reads_elicitations(one["sql"])]
    assert asked
    for sql in asked:
        plan = _plan(sql)
        assert not [line for line in plan if _reads_all(line)], (sql, plan)


def test_what_is_due_for_a_refresh_is_not_looked_for_among_all_connections(database: None) -> None:
    with CaptureQueriesContext(connection) as caught:
        vault.refresh_due()
    asked = [one["sql"] for one in caught.captured_queries if 'FROM "elicit_flows_connection"' in one["sql"]]
    assert asked
    for sql in asked:
        assert any("connection_due" in line for line in _plan(sql)), (sql, _plan(sql))


def test_codes_to_ask_about_are_not_looked_for_among_all_attempts(database: None) -> None:
    with CaptureQueriesContext(connection) as caught:
        flow.poll_due()
    [asked] = caught.captured_queries
    assert any("attempt_poll" in line for line in _plan(asked["sql"])), _plan(asked["sql"])


def test_an_elicitation_that_is_over_has_a_time_at_which_it_was(committed: None) -> None:
    """The indexes go by that."""
    row, _ = flow.create(rows.agent().row, Question("confirm", WHOM, "May I?", {}))
    assert row.finished_at is None
    assert flow.cancel(row).finished_at is not None
    assert not Elicitation.objects.filter(finished_at=None).exists()


def _reads_elicitations(sql: str) -> bool:
    return (
        sql.lstrip().startswith("SELECT")
        and "elicit_flows_elicitation" in sql.partition("FROM")[2].partition("WHERE")[0]
    )


def _plan(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            return [str(line[3]) for line in cursor.fetchall()]
        cursor.execute("SET enable_seqscan = off")  # the tables of a test are so small that reading all is quickest
        cursor.execute(f"EXPLAIN {sql}")
        plan = [str(line[0]) for line in cursor.fetchall()]
        cursor.execute("RESET enable_seqscan")
        return plan


def _reads_all(line: str) -> bool:
    if "Seq Scan on elicit_flows_elicitation" in line:
        return True
    return line.startswith("SCAN elicit_flows_elicitation") and "USING" not in line
