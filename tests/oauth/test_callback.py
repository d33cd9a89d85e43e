"""What may happen between the person's way back and the record of what was granted."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.db import connections as databases
from django.test.utils import CaptureQueriesContext

from elicit_flows import events, vault
from elicit_flows.domain.status import Status
from elicit_flows.elicitations.transitions import move
from elicit_flows.lib import clock
from elicit_flows.models import Attempt, Connection, Delivery, Elicitation, Event, Feed
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.oauth.journey import ask, come_back, press, told
from tests.support import rows
from tests.support.rows import Known


def test_what_is_granted_while_its_provider_is_switched_off_is_kept_and_serves_when_it_is_on(
    known: Known, double: Provider, drive_row: ProviderRow
) -> None:
    def switch_off(request: Request) -> Response:
        ProviderRow.objects.filter(pk=drive_row.pk).update(enabled=False)
        databases.close_all()  # of the double's thread
        return json_response({"sub": "alice"})

    double.scripted["userinfo"] = switch_off
    row = ask(known)
    done = come_back(double, row, press(row))
    kept = Connection.objects.get()
    assert done.result
    assert (done.status, done.result["connection"], kept.status) == ("completed", kept.pk, "active")
    ProviderRow.objects.filter(pk=drive_row.pk).update(enabled=True)
    assert vault.token(known.row, kept.pk)["access_token"]


def test_a_move_reads_what_others_wrote_and_moves_nothing_that_they_ended(known: Known, drive_row: ProviderRow) -> None:
    mine = ask(known)
    Elicitation.objects.filter(pk=mine.pk).update(seq=7, error={"code": "older"})
    with transaction.atomic():
        assert move(mine, Status.STARTED)
    assert (mine.status, mine.seq, mine.error, mine.finished_at) == ("started", 8, {"code": "older"}, None)
    late = Elicitation.objects.get(pk=mine.pk)
    with transaction.atomic():
        assert move(mine, Status.FAILED, error={"code": "x"})
    with transaction.atomic():
        assert not move(late, Status.SETTLING, only=[Status.STARTED])
    assert (late.status, late.seq, late.error, late.finished_at) == ("failed", 9, {"code": "x"}, mine.finished_at)
    assert mine.finished_at
    assert told(known) == ["elicitation.created", "elicitation.started", "elicitation.failed"]


@pytest.mark.parametrize("database", ["committed", "on_postgres"])
def test_t26_an_attempt_is_used_up_with_the_change_or_nothing_is_written(
    database: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(database)
    agent = rows.agent(webhook_url="https://hooks.example.com/elicit").row
    row = Elicitation(agent=agent, iss="https://idp.example", sub="alice", kind="link", place=0)
    row.expires_at = later()
    events.publish_created(agent, [row])
    with transaction.atomic():
        assert move(row, Status.STARTED)
    dates = {"created_at": clock.now(), "expires_at": later()}
    attempt = Attempt.objects.create(elicitation=row, state_hash="s", browser_hash="b", stash="", **dates)
    same = Attempt.objects.get()
    # Another event of the elicitation, which this copy of it does not know, is no reason to refuse.
    Elicitation.objects.update(seq=5)
    with CaptureQueriesContext(connection) as said:
        assert move(row, Status.SETTLING, only=[Status.STARTED], uses_up=attempt)
    if database == "on_postgres":
        assert len(said) == 3, said.captured_queries  # the change, what it was made to, the change
    used = Attempt.objects.get().used_at
    with transaction.atomic():
        assert move(row, Status.STARTED, only=[Status.SETTLING])
    assert used is not None
    before = written()
    assert not move(row, Status.SETTLING, only=[Status.STARTED], uses_up=same)
    assert written() == before
    assert (row.status, row.seq, Attempt.objects.get().used_at) == ("started", 7, used)
    assert [event.seq for event in Event.objects.order_by("position")] == [1, 2, 6, 7]
    assert Delivery.objects.count() == 4


def written() -> list[object]:
    return [list(model.objects.values()) for model in (Elicitation, Attempt, Event, Delivery, Feed)]


def later() -> datetime:
    return clock.now() + timedelta(minutes=5)
