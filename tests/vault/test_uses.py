"""The record of what agents did with a connection: one row for each hour, at most one write for each minute."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elicit_flows import vault
from elicit_flows.domain.errors import ReauthorizationRequired
from elicit_flows.domain.values import Secret
from elicit_flows.lib import clock
from elicit_flows.models import Connection, ConnectionUse
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import tokens
from tests.doubles.provider import Provider
from tests.doubles.server import json_response
from tests.support import rows
from tests.support.moving import MovingClock
from tests.support.rows import Known


@pytest.fixture
def fresh(known: Known, drive_row: ProviderRow, double: Provider) -> Connection:
    return rows.connection(known, drive_row, rows.grant(double, expires_in=30 * 86400))


def told(row: Connection) -> list[tuple[str, str, int]]:
    return [(str(use.action), str(use.actor), use.count) for use in row.uses.order_by("first_at", "pk")]


def to_the_hour(clock_: MovingClock) -> None:
    """So that what follows is in one hour, whenever the test runs."""
    now = clock.now()
    clock_.forward(seconds=(now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1) - now).total_seconds())


def test_fetches_are_counted_by_the_minute_and_kept_by_the_hour(
    known: Known, fresh: Connection, moving_clock: MovingClock
) -> None:
    to_the_hour(moving_clock)
    for _ in range(3):
        for _ in range(5):
            vault.token(known.row, fresh.pk)
        moving_clock.forward(seconds=61)
    assert told(fresh) == [("connected", "person", 1), ("fetched", "agent", 3)]
    moving_clock.forward(hours=1)
    vault.token(known.row, fresh.pk)
    assert told(fresh)[1:] == [("fetched", "agent", 3), ("fetched", "agent", 1)]
    first = fresh.uses.filter(action="fetched").earliest("first_at")
    assert timedelta(seconds=121) < first.last_at - first.first_at < timedelta(seconds=130)


def test_a_fetch_within_the_minute_writes_nothing(known: Known, fresh: Connection) -> None:
    vault.token(known.row, fresh.pk)
    with CaptureQueriesContext(connection) as caught:
        vault.token(known.row, fresh.pk)
    assert [one["sql"].split()[0] for one in caught.captured_queries] == ["SELECT"]


def test_of_two_processes_that_fetch_within_the_minute_one_counts(known: Known, fresh: Connection) -> None:
    """Both have read the row before either wrote."""
    one, other = (Connection.objects.get(pk=fresh.pk) for _ in range(2))
    for row in (one, other):
        tokens.connections.note_use(row, ConnectionUse.Action.FETCHED)
    assert told(fresh)[1:] == [("fetched", "agent", 1)]


def test_who_renewed_and_who_ended_it_is_kept(known: Known, held: Connection, double: Provider) -> None:
    vault.token(known.row, held.pk)
    rows.expire(held)
    double.scripted["token"] = json_response({"error": "invalid_grant"}, 400)
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)
    vault.revoke(held, ConnectionUse.Actor.PERSON)
    vault.revoke(held, ConnectionUse.Actor.AGENT)
    assert told(held) == [
        ("connected", "person", 1),
        ("refreshed", "service", 1),
        ("fetched", "agent", 1),
        ("lapsed", "provider", 1),
        ("revoked", "person", 1),
    ]


def test_opening_what_was_typed_is_kept(known: Known, drive_row: ProviderRow) -> None:
    row = vault.keep_credentials(known.row, rows.ALICE_CLAIM, None, "API key", {"key": Secret("s3cret")})
    vault.open_credentials(known.row, row.pk)
    assert told(row) == [("connected", "person", 1), ("opened", "agent", 1)]
