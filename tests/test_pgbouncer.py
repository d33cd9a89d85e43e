"""Behind PgBouncer, with the settings that docs/how-to/operate.md names: flows, webhooks, jobs and commands. Slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from pytest_django import Settings
from pytest_django.plugin import DjangoDbBlocker

from config import env
from elicit_flows.jobs import readiness
from elicit_flows.lib import clock
from elicit_flows.lib.paging import in_pages
from elicit_flows.models import Agent, Payment, PaymentAccount, Refund
from elicit_flows.payments.bookkeeping import Period, entries
from elicit_flows.payments.reconciliation import Fault, Reconciliation
from tests.journey.stage import Stage
from tests.support import rows
from tests.support.box import Box
from tests.support.fixtures import configure_box
from tests.support.http_user import HttpUser
from tests.support.in_process import default_database
from tests.support.op import Op
from tests.support.pgbouncer import PgBouncer
from tests.support.process import until
from tests.support.services import Postgres
from tests.support.sink import Sink

pytestmark = pytest.mark.slow
NO_LIMITS = {
    "ELICIT_STATEMENT_TIMEOUT": "0", "ELICIT_LOCK_TIMEOUT": "0", "ELICIT_IDLE_TRANSACTION_TIMEOUT": "0",
}  # fmt: skip
SETTINGS = {"session": NO_LIMITS, "transaction": {**NO_LIMITS, "ELICIT_PREPARED_STATEMENTS": "off"}}
PEOPLE = 8
Bouncer = Callable[..., PgBouncer]


@pytest.fixture
def bouncer(postgres: Postgres) -> Iterator[Bouncer]:
    """Starts one: ``bouncer("transaction", 3)`` has three connections to PostgreSQL."""
    with ExitStack() as stack:

        def make(mode: str, size: int, **more: str) -> PgBouncer:
            made = PgBouncer(postgres, mode, size, **more)
            stack.callback(made.remove)
            return made.start()

        yield make


@pytest.mark.parametrize(("mode", "size", "shape"), [("transaction", 3, "full"), ("session", 100, "embedded")])
def test_flows_webhooks_jobs_and_commands_go_through_it(
    mode: str, size: int, shape: str, bouncer: Bouncer, new_box: Callable[..., Box], postgres: Postgres,
    corp: Op, drive: Op, sink: Sink, new_http_user: Callable[..., HttpUser], tmp_path: Path,
) -> None:  # fmt: skip
    """The full shape shares three connections; the other has two processes that wake each other by LISTEN."""
    through = bouncer(mode, size).url(postgres.database(migrated=False))
    box = new_box(shape, webs=2, database_url=through, settings=SETTINGS[mode], configure=False, start=False)
    box.migrate()
    configure_box(box, corp, drive, sink)
    box.start()

    def flow(stage: Stage) -> str:
        asked = stage.ask()
        with ThreadPoolExecutor(1) as waiting:
            end = waiting.submit(stage.agent.get, f"{box.urls[1]}/v1/elicitations/{asked['id']}?wait=30")
            stage.complete(new_http_user(), asked)
            assert end.result().json()["status"] in {"started", "completed"}
        stage.check_invariants(asked)
        assert stage.works(stage.token(asked))
        return str(asked["id"])

    stages = [Stage(box, box.fresh_agent(), corp, drive) for _ in range(PEOPLE)]
    with ThreadPoolExecutor(PEOPLE) as people:
        done = set(people.map(flow, stages))
    until(lambda: done <= completed(sink), "each end was sent as a webhook", timeout=60)
    stage = Stage(box, box.fresh_agent(), corp, drive)
    late = stage.ask()
    stage.let_time_run_out(late)
    until(lambda: stage.status(late) == "expired", "a job expired what nobody answered")
    assert "entries in" in box.manage("audit", str(tmp_path / "audit.jsonl")).stdout
    said = (tmp_path / "audit.jsonl").read_text()
    assert all(one in said for one in done)
    box.manage("purge")
    assert "Traceback" not in box.logs()


def completed(sink: Sink) -> set[str]:
    # The sink is also where agents' pages are, which browsers of other tests opened: only webhooks have an id.
    webhooks = [one.event for one in sink.received() if one.id]
    return {event["elicitation"] for event in webhooks if event["type"] == "elicitation.completed"}


def test_pages_go_on_when_somebody_else_has_the_connection_of_the_first(
    bouncer: Bouncer, postgres: Postgres, django_db_blocker: DjangoDbBlocker
) -> None:
    through = bouncer("transaction", 2).url(postgres.database())
    with default_database(through, django_db_blocker), psycopg.connect(through) as other:
        made = [rows.agent().row.pk for _ in range(3)]
        pages = in_pages(Agent.objects.all(), "created_at", 1)
        assert next(pages).pk == made[0]
        other.execute("SELECT 1")  # on the connection of before; its transaction stays open
        assert [one.pk for one in pages] == made[1:]


def test_a_form_of_the_admin_is_shown_when_each_statement_has_another_connection(
    bouncer: Bouncer, postgres: Postgres, django_db_blocker: DjangoDbBlocker, settings: Settings
) -> None:
    """Django reads the choices of a form by itself, and would use a cursor."""
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    through = bouncer("transaction", 2, server_round_robin="1").url(postgres.database())
    with default_database(through, django_db_blocker), psycopg.connect(through) as other:
        env.prepare_nothing(connection.settings_dict)
        other.execute("SELECT 1")  # so that the next needs the second connection
        rows.identity_provider()
        other.rollback()
        browser = Client()
        browser.force_login(User.objects.create_superuser("olga"))
        assert "corp" in browser.get("/admin/elicit_flows/agent/add/").text


def test_the_books_are_read_when_each_statement_has_another_connection(
    bouncer: Bouncer, postgres: Postgres, django_db_blocker: DjangoDbBlocker
) -> None:
    """The file of the page of money, and ``manage.py reconcile``."""
    through = bouncer("transaction", 2, server_round_robin="1").url(postgres.database())
    with default_database(through, django_db_blocker), psycopg.connect(through) as other:
        other.execute("SELECT 1")  # so that the next needs the second connection
        account = PaymentAccount.objects.create(slug="main", provider="stripe")
        other.rollback()
        paid = Payment.objects.create(
            agent=rows.agent().row, account=account, mode="pay", status="paid", amount=500, currency="eur",
            paid_at=clock.now(), payment_ref="pi_1",
        )  # fmt: skip
        Refund.objects.create(
            payment=paid, payment_ref="pi_1", amount=200, by="agent", status="done", done_at=clock.now(), ref="re_1"
        )
        since, until = clock.now() - timedelta(days=1), clock.now() + timedelta(days=1)
        assert [one.amount for one in entries(Period(since, until))] == [500, -200]
        found = Reconciliation(account, since, until).differences()
    assert [one.fault for one in found] == [Fault.CHARGE_MISSING, Fault.REFUND_MISSING]


def test_whether_the_database_is_well_is_asked_without_a_limit_for_whoever_is_next(
    bouncer: Bouncer, postgres: Postgres, django_db_blocker: DjangoDbBlocker
) -> None:
    """It would end a migration, or an export, that got the connection after a probe."""
    through = bouncer("transaction", 1).url(postgres.database())
    with default_database(through, django_db_blocker), psycopg.connect(through, autocommit=True) as other:
        for suspected in (False, True):
            readiness.forget()
            if suspected:
                readiness.suspect()
            until(lambda: readiness.state().ready, "it is asked")
            assert other.execute("SHOW statement_timeout").fetchone() == ("0",)
    readiness.forget()


def test_it_refuses_the_limits_that_are_sent_at_the_start_and_the_users_own_count(
    bouncer: Bouncer, new_box: Callable[..., Box], postgres: Postgres
) -> None:
    database = postgres.database()
    through = bouncer("transaction", 1).url(database)
    box = new_box(database_url=through, configure=False, start=False)
    ran = box.manage("migrate", "--check", check=False)
    assert ran.returncode != 0
    assert "unsupported startup parameter" in ran.stderr
    name = database.rpartition("/")[2]
    postgres.execute(f"ALTER ROLE postgres IN DATABASE {name} SET statement_timeout = '3s'")
    with psycopg.connect(through) as session:
        assert session.execute("SHOW statement_timeout").fetchone() == ("3s",)
    # A migration goes to PostgreSQL itself, and says that it may take its time.
    with psycopg.connect(f"{database}?options=-c%20statement_timeout%3D0") as session:
        assert session.execute("SHOW statement_timeout").fetchone() == ("0",)
