"""F23: a backup of yesterday is restored. Refresh tokens that have changed since are invalid, and this is reported
once.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import connections
from pytest_django import DjangoDbBlocker

from elicit_flows import vault
from elicit_flows.models import Connection, Event
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.support import jobs, rows
from tests.support.in_process import default_database
from tests.support.moving import MovingClock
from tests.support.services import Postgres


def test_f23_tokens_that_changed_since_the_backup_end_with_an_event_and_nothing_loops(
    on_postgres: str, postgres: Postgres, django_db_blocker: DjangoDbBlocker, moving_clock: MovingClock
) -> None:
    with Provider() as double, loopback_allowed():
        known, drive = rows.agent(), rows.provider(double)
        used, idle = (rows.connection(known, drive, rows.grant(double, account=name)) for name in ("used", "idle"))
        vault.token(known.row, used.pk)
        connections.close_all()
        yesterday = postgres.copied(on_postgres)

        moving_clock.forward(hours=2)
        vault.token(known.row, used.pk)
        assert double.calls["token"] == 1
        moving_clock.forward(hours=26)

        with default_database(yesterday, django_db_blocker):
            for _ in range(4):
                jobs.tick()
                jobs.refresh()
                moving_clock.forward(minutes=10)
            told = dict(Event.objects.values_list("data__id", "type"))
            assert told == {used.pk: "connection.reauthorization_required", idle.pk: "connection.refreshed"}
            assert Event.objects.count() == 2
            assert double.calls["token"] == 3, "each was asked for once more"
            assert Connection.objects.get(pk=used.pk).health == "reauthorization_required"
            again = rows.connection(known, drive, rows.grant(double, account="used"))
            assert (again.pk, again.health) == (used.pk, "ok"), "who connects again has it back under its id"
        postgres.drop(yesterday)
    assert moving_clock.ahead > timedelta(hours=24)
