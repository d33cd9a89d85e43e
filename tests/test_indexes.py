"""Frequent queries use an index: many finished rows must not slow down the few open ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from elicit_flows import elicitations
from elicit_flows.domain.values import Claim, Question
from elicit_flows.events import feed
from elicit_flows.models import Agent, Elicitation
from elicit_flows.vault import refresh_job
from elicit_flows.web import account
from tests.support import jobs, rows

WHOM = Claim(rows.ISSUER, "alice")


def _ask() -> object:
    return elicitations.create(rows.agent().row, Question("confirm", WHOM, "May I?", {}))


def _sweep() -> object:
    return elicitations.sweep()


def _waiting() -> object:
    return list(account.waiting(WHOM))


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("committed" if request.param == "SQLite" else "on_postgres")


FINISHED, OPEN = 8000, 3000
_COPY = """
    INSERT INTO elicit_flows_elicitation (id, sub, expires_at, finished_at, {columns})
    SELECT 'el_' || number, 'person-' || number, now() + (number %% 2 - 0.5) * interval '1 day',
        CASE WHEN number > %s THEN NULL::timestamptz ELSE now() - number * interval '1 s' END,
        {columns}
    FROM elicit_flows_elicitation, generate_series(1, %s) AS number
"""


def _copy(finished: int, still_open: int) -> None:
    """Make an elicitation of one person into as many, each of another person. Half of them are overdue."""
    written = {"id", "sub", "expires_at", "finished_at"}
    columns = ", ".join(one.column for one in Elicitation._meta.concrete_fields if one.column not in written)
    with connection.cursor() as cursor:
        cursor.execute(_COPY.format(columns=columns), [finished, finished + still_open])


def test_the_sweep_reads_what_is_due_alone_among_thousands_that_are_open(on_postgres: str) -> None:
    """When the worker was away and has caught up, PostgreSQL still believes that half of what is open is overdue. It
    would read all of that to find the first, were it not told the order.
    """
    _ask()
    _copy(FINISHED, OPEN)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE elicit_flows_elicitation")
        cursor.execute("UPDATE elicit_flows_elicitation SET expires_at = now() + interval '1 day'")
    assert read_from("elicit_flows_elicitation", elicitations.sweep) == 0, "no plan for any time is used"
    with CaptureQueriesContext(connection) as caught:
        assert elicitations.sweep() == 0
    plans = ["\n".join(_plan(one["sql"], as_it_is=True)) for one in caught.captured_queries]
    assert len(plans) == 3
    for plan, index in zip(plans, ("elicitation_overdue", "elicitation_stuck", "elicitation_open_steps"), strict=True):
        assert index in plan, plan
        assert "elicitation_purge" not in plan, plan


def test_one_persons_requests_are_read_alone_among_all_that_are_open(on_postgres: str) -> None:
    """Where nearly all is over, PostgreSQL expects one row with time left, by whichever index."""
    _ask()
    _copy(FINISHED, 0)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE elicit_flows_elicitation SET expires_at = finished_at WHERE finished_at IS NOT NULL")
        cursor.execute("ANALYZE elicit_flows_elicitation")
        cursor.execute(
            "UPDATE elicit_flows_elicitation SET finished_at = NULL, expires_at = now() + interval '1 day'"
            " WHERE id IN (SELECT id FROM elicit_flows_elicitation LIMIT 300)"
        )
    assert read_from("elicit_flows_elicitation", _waiting) <= 2


def test_a_page_of_a_feed_is_read_alone_among_many_events(on_postgres: str) -> None:
    for slug in ("bot", "other-bot"):
        elicitations.create(rows.agent(slug).row, Question("confirm", WHOM, "May I?", {}))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO elicit_flows_event (id, agent_id, position, type, created_at, data)"
            " SELECT id || number, agent_id, position + number, type, created_at, data"
            " FROM elicit_flows_event, generate_series(1, %s) AS number",
            [FINISHED],
        )
        cursor.execute("ANALYZE elicit_flows_event")
    agent = Agent.objects.get(slug="bot").pk
    for position, page in ((0, 10), (FINISHED - 50, 10), (FINISHED + 1, 0)):
        assert len(feed.after(agent, position, 10)) == page
        assert read_from("elicit_flows_event", partial(feed.after, agent, position, 10)) == page


def read_from(table: str, call: Callable[[], object]) -> int:
    """How many rows of a table are read, with the plans that PostgreSQL makes once for a prepared statement."""
    with transaction.atomic(), connection.cursor() as cursor:

        def so_far() -> int:  # since the backend last reported it, which may be before this transaction
            cursor.execute(
                "SELECT COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
                " WHERE relname = %s",
                [table],
            )
            return int(cursor.fetchone()[0])

        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        before = so_far()
        call()
        return so_far() - before


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
    rows.expire(rows.connection(rows.agent(), rows.provider()))
    with CaptureQueriesContext(connection) as caught:
        refresh_job._due([], 1)
    asked = [one["sql"] for one in caught.captured_queries if "elicit_flows_connection" in one["sql"]]
    assert len(asked) == 2
    for sql in asked:
        assert any("connection_due" in line for line in _plan(sql)), (sql, _plan(sql))


def test_codes_to_ask_about_are_not_looked_for_among_all_attempts(database: None) -> None:
    with CaptureQueriesContext(connection) as caught:
        jobs.poll_due()
    [asked] = caught.captured_queries
    assert any("attempt_poll" in line for line in _plan(asked["sql"])), _plan(asked["sql"])


def test_an_elicitation_that_is_over_has_a_time_at_which_it_was(committed: None) -> None:
    """The indexes depend on it."""
    row, _ = elicitations.create(rows.agent().row, Question("confirm", WHOM, "May I?", {}))
    assert row.finished_at is None
    assert elicitations.cancel(row).finished_at is not None
    assert not Elicitation.objects.filter(finished_at=None).exists()


def _reads_elicitations(sql: str) -> bool:
    return sql.lstrip().startswith("SELECT") and any(
        part.partition("WHERE")[0].lstrip().startswith(("elicit_flows_elicitation", '"elicit_flows_elicitation"'))
        for part in sql.split("FROM")[1:]
    )


def _plan(sql: str, *, as_it_is: bool = False) -> list[str]:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            return [str(line[3]) for line in cursor.fetchall()]
        if not as_it_is:
            cursor.execute("SET enable_seqscan = off")  # tables of a test are so small that reading all is quickest
        cursor.execute(f"EXPLAIN {sql}")
        plan = [str(line[0]) for line in cursor.fetchall()]
        cursor.execute("RESET enable_seqscan")
        return plan


def _reads_all(line: str) -> bool:
    if "Seq Scan on elicit_flows_elicitation" in line:
        return True
    return line.startswith("SCAN elicit_flows_elicitation") and "USING" not in line
