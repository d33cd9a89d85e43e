"""What runs all the time, and what an agent may ask for at any time, reads no more beside a long past than beside none.

Held in rows and pages, as PostgreSQL counts them, never in time. ``python -m bench.history`` does it with a million.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import connection

from elicit_flows import vault
from elicit_flows.elicitations import payment_sweep
from elicit_flows.events import webhooks
from elicit_flows.jobs import lag, purge
from elicit_flows.models import Agent, Checkout, Connection, Delivery
from elicit_flows.vault import refresh_job
from tests.support import history, hot_reads
from tests.support.history import Columns, History, write
from tests.support.reading import Reads, read_by

MANY = 100_000
BACKLOG = 30_000
SMALL = Reads(rows=100, pages=300)

pytestmark = pytest.mark.slow


@pytest.mark.limit(300)
def test_nothing_that_is_asked_for_often_reads_more_when_the_past_is_long(on_postgres: str) -> None:
    made = history.begin()
    acts = hot_reads.acts(made)
    without = {name: read_by(act)[0] for name, act in acts.items()}
    made.add(MANY)
    grown = {}
    for name, act in acts.items():
        reads, plans = read_by(act)
        if not reads.within(hot_reads.allowed(without[name])):
            grown[name] = f"{reads}, without: {without[name]}\n{plans}"
    assert not grown, "\n".join(f"{name}: {said}" for name, said in grown.items())
    _purges_in_one_pass()


def test_the_few_rows_of_a_person_are_read_from_an_index_even_where_the_planner_expects_many(made: History) -> None:
    """ANALYZE looks at some rows: from one in ten samples PostgreSQL concluded that each person has thousands."""
    lists = ("elicitation", "connection", "payment", "entitlement")
    with connection.cursor() as cursor:
        for one in lists:
            cursor.execute(f"ALTER TABLE elicit_flows_{one} ALTER COLUMN sub SET (n_distinct = 5)")
    made.add(BACKLOG)
    acts = hot_reads.acts(made)
    for one in lists:
        reads, plans = read_by(acts[f"hot: GET /v1/{one}s?sub=few-0"])
        assert reads.within(hot_reads.LIMIT), f"{one}: {reads}\n{plans}"


def _purges_in_one_pass() -> None:
    """What one batch has deleted is not passed by the next, and what stays is not read for what goes."""
    gone: dict[str, int] = {}
    reads, _ = read_by(lambda: gone.update(purge.purge()))
    assert sum(gone.values()) > MANY / 2, gone
    assert reads.rows < 6 * sum(gone.values()), (reads, gone)
    assert reads.pages < 20 * sum(gone.values()), (reads, gone)


FULL = {"webhook_failures": 0}
FAILING = {"webhook_failures": 3}
OFF = {"enabled": False}
STOPPED = {"webhook_disabled_at": "2026-01-01T00:00:00Z"}


@pytest.fixture
def made(on_postgres: str) -> History:
    return history.begin()


def _reads_little(act: Callable[[], object]) -> None:
    reads, plans = read_by(act)
    assert reads.within(SMALL), f"{reads}\n{plans}"


@pytest.mark.parametrize(("state", "busy"), [(FULL, 4), (FAILING, 1), (FAILING, 0), (OFF, 0), (STOPPED, 0)])
def test_a_backlog_of_deliveries_is_not_read_through_for_those_of_others(
    made: History, state: dict[str, object], busy: int
) -> None:
    hot, other = made.hot.row.pk, made.other.row.pk
    due = {"id": "'due-' || n", "event_id": f"'few-{hot}-1'", "next_at": "now() - n * interval '1 second'"}
    write(Delivery, BACKLOG, {**due, "agent_id": str(hot)}, status="pending")
    mine = {"id": "'mine-' || n", "event_id": f"'few-{other}-1'", "next_at": "now()", "agent_id": str(other)}
    write(Delivery, 2, mine, status="pending")
    history.vacuum()
    Agent.objects.filter(pk=hot).update(**state)
    claimed: list[str] = []
    in_flight = {hot: busy} if busy else {}
    _reads_little(lambda: claimed.extend(one.agent.slug for one in webhooks.claim(64, in_flight, 4, failing=True)))
    assert claimed.count("other") == 2
    assert claimed.count("hot") == (1 if state is FAILING and not busy else 0)
    _reads_little(lag.oldest)


def _due_refreshes(made: History, count: int) -> Columns:
    """``count`` connections of the agent and the provider of most, due for seconds that go up; their columns."""
    due = {"id": "'due-' || n", "account_id": "'due-' || n", "sub": "'x'"}
    due |= {"agent_id": str(made.hot.row.pk), "provider_id": str(made.drive.pk)}
    due["refresh_due_at"] = "now() - n * interval '1 second'"
    write(Connection, count, due)
    return due


@pytest.mark.parametrize("state", ["due", "failing", "off"])
def test_the_oldest_refresh_is_read_from_the_index_however_many_are_due(made: History, state: str) -> None:
    """Rows that failed, or whose agent is switched off, are not read to find the rows of others."""
    due = _due_refreshes(made, BACKLOG)
    rare = {"id": "'mine'", "agent_id": str(made.other.row.pk), "provider_id": str(made.rare.pk)}
    write(Connection, 1, {**due, **rare, "refresh_due_at": "now() - interval '1 hour'"})
    history.vacuum()
    oldest = Connection.objects.order_by("refresh_due_at").values_list("refresh_due_at", flat=True)
    expected = {"due": oldest[0], "failing": oldest.get(pk="mine"), "off": oldest.get(pk="mine")}[state]
    if state == "failing":
        Connection.objects.filter(agent=made.hot.row).update(refresh_failures=3)
    Agent.objects.filter(pk=made.hot.row.pk).update(enabled=state != "off")
    found: list[datetime | None] = []
    reads, plans = read_by(lambda: found.append(vault.oldest_due_refresh()))
    assert reads.within(SMALL), f"{reads}\n{plans}"
    assert "connection_due" in plans, plans
    assert found == [expected]


@pytest.mark.parametrize("full", [True, False], ids=["of a provider that has no room", "of an agent that is off"])
def test_a_backlog_of_refreshes_is_not_read_through_for_those_of_others(made: History, *, full: bool) -> None:
    due = _due_refreshes(made, BACKLOG)
    rare = {"id": "'mine'", "agent_id": str(made.other.row.pk), "provider_id": str(made.rare.pk)}
    write(Connection, 1, {**due, **rare})
    history.vacuum()
    Agent.objects.filter(pk=made.hot.row.pk).update(enabled=full)
    found: list[str] = []
    busy = [made.drive.pk] if full else []
    _reads_little(lambda: found.extend(row.pk for row in refresh_job._due(busy, 64)))
    assert found == ["mine"]


def test_a_backlog_of_payments_is_not_read_through_for_those_of_other_accounts(made: History) -> None:
    late = {"id": "'late-' || n", "look_at": "now() - n * interval '1 second'", "expires_at": "now()"}
    payment = f"'few-{made.hot.row.pk}-paid-pay-1'"
    write(Checkout, BACKLOG, {**late, "payment_id": payment, "account_id": str(made.first.pk)}, status="paid")
    mine = {**late, "id": "'mine'", "payment_id": payment, "account_id": str(made.second.pk)}
    write(Checkout, 1, mine, status="paid")
    history.vacuum()
    found: list[int] = []
    _reads_little(lambda: found.extend(payment_sweep.payment_accounts_due([made.first.pk])))
    assert found == [made.second.pk]


def test_a_backlog_of_revocations_is_not_read_through_for_those_of_other_providers(made: History) -> None:
    gone = {"id": "'gone-' || n", "account_id": "'gone-' || n", "sub": "'x'", "agent_id": str(made.hot.row.pk)}
    gone |= {"upstream_next_at": "now() - n * interval '1 second'", "provider_id": str(made.drive.pk)}
    rare = {"id": "'mine'", "provider_id": str(made.rare.pk)}
    write(Connection, BACKLOG, gone, status="revoked", upstream="pending")
    write(Connection, 1, {**gone, **rare}, status="revoked", upstream="pending")
    history.vacuum()
    found: list[int] = []
    _reads_little(lambda: found.extend(vault.providers_due([made.drive.pk])))
    assert found == [made.rare.pk]
