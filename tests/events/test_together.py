"""A new elicitation, its event and its delivery are written together; on PostgreSQL by one statement."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DataError, IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from elicit_flows import elicitations, events
from elicit_flows.domain.values import Question
from elicit_flows.events import feed
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Delivery, Elicitation, Event
from tests.support import rows

HOOK = "https://hooks.example.com/elicit"


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("committed" if request.param == "SQLite" else "on_postgres")


def row_of(agent: Agent) -> Elicitation:
    """With a word in every column that may be empty."""
    now = clock.now()
    given = {name: {"of": name} for name in ("params", "result", "error", "metadata")}
    moments = dict.fromkeys(("settling_since", "finished_at", "consumed_at"), now)
    texts = {name: f"a {name}" for name in ("message", "return_url", "idempotency_key", "consumed_by", "note")}
    who = {"agent": agent, "iss": rows.ALICE_CLAIM.iss, "sub": rows.ALICE_CLAIM.sub, "kind": "confirm"}
    return Elicitation(**who, **given, **moments, **texts, place=1, reused=True, expires_at=now + timedelta(minutes=1))


def cells(row: Elicitation) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in Elicitation._meta.concrete_fields}


def test_every_column_is_what_save_would_write(database: None) -> None:
    row = row_of(rows.agent(webhook_url=HOOK).row)
    events.publish_created(row.agent, [row])
    assert cells(Elicitation.objects.get()) == cells(row)
    assert not row._state.adding
    told = Event.objects.get()
    assert (told.type, told.position, told.elicitation_id, told.seq) == ("elicitation.completed", 1, row.pk, 1)
    assert told.data == row.snapshot()
    sent = Delivery.objects.get()
    assert (sent.event_id, sent.status, sent.tries, sent.log) == (told.pk, "pending", 0, [])


def test_what_is_too_long_for_its_column_is_refused_and_not_cut(on_postgres: str) -> None:
    row = row_of(rows.agent().row)
    row.return_mode = "automatically"
    with pytest.raises(DataError, match="too long"):
        events.publish_created(row.agent, [row])
    assert not Elicitation.objects.exists()


def test_what_cannot_be_stored_takes_no_position(database: None) -> None:
    known = rows.agent(webhook_url=HOOK)
    row, other, again = row_of(known.row), row_of(known.row), row_of(known.row)
    other.idempotency_key = "another"
    events.publish_created(known.row, [row])
    with pytest.raises(IntegrityError):
        events.publish_created(known.row, [other, again])  # its Idempotency-Key is that of the first
    assert feed.heads([known.row.pk])[known.row.pk].position == 1
    assert (Elicitation.objects.count(), Event.objects.count(), Delivery.objects.count()) == (1, 1, 1)


@pytest.mark.parametrize("hook", [None, HOOK], ids=["no webhook", "webhook"])
def test_on_postgresql_a_create_asks_once_and_writes_once(on_postgres: str, hook: str | None) -> None:
    known = rows.agent(webhook_url=hook) if hook else rows.agent()
    rows.provider()
    question = Question("oauth", rows.ALICE_CLAIM, "May I?", {"provider": "drive", "scopes": ["files.read"]})
    elicitations.create(known.row, question)
    with CaptureQueriesContext(connection) as caught:
        elicitations.create(known.row, question)
    words = [query["sql"].split()[0] for query in caught.captured_queries]
    assert words == ["SELECT", "WITH"]
    assert Delivery.objects.count() == (2 if hook else 0)
