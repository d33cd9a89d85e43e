"""The story of one elicitation, on its page."""

from __future__ import annotations

import re
from datetime import timedelta

from django.contrib.admin.utils import quote
from django.db import transaction
from django.test import Client

from elicit_flows import queue
from elicit_flows.admin import timeline
from elicit_flows.flow.moving import move
from elicit_flows.lib import clock
from elicit_flows.models import Attempt, Delivery, Elicitation, Refund
from elicit_flows.states import Status
from tests.admin.rows import CANARIES, Rows, elicitation

TIME = re.compile(r'<time datetime="([^"]+)">')


def page(admin: Client, row: Elicitation) -> str:
    return admin.get(f"/admin/elicit_flows/elicitation/{quote(row.pk)}/change/").text


def test_everything_that_happened_is_told_in_order(admin: Client, rows: Rows) -> None:
    row = rows.elicitation
    Attempt.objects.update(used_at=clock.now(), context="drive")
    with transaction.atomic():
        for status in (Status.STARTED, Status.SETTLING):
            assert move(row, status)
        assert move(row, Status.COMPLETED, result={"connection": rows.connection.pk})
    log = [{"at": clock.rfc3339(clock.now()), "status": status, "note": "", "milliseconds": 9} for status in (500, 200)]
    Delivery.objects.filter(event__type="elicitation.completed").update(log=log, status="delivered")
    Delivery.objects.filter(event__type="elicitation.started").update(next_at=clock.now() + timedelta(hours=1))
    story = timeline.of(row)
    told = [one.what for one in story]
    for what in (
        "created", "started", "settling", "completed", "sent to drive", "back from drive, or started over",
        "connection made", "webhook for “elicitation.completed”: 500 in 9 ms",
        "webhook for “elicitation.completed”: 200 in 9 ms", "webhook for “elicitation.started”: next try",
    ):  # fmt: skip
        assert told.count(what) == 1, (what, told)
    assert [one.what for one in story if one.bad] == ["webhook for “elicitation.completed”: 500 in 9 ms"]
    assert story == sorted(story, key=lambda one: one.at)
    shown = page(admin, row)
    assert TIME.findall(shown) == [one.at.isoformat(timespec="microseconds") for one in story]
    assert not [one for one in CANARIES if one in shown]


def test_what_went_wrong_stands_out(admin: Client, rows: Rows) -> None:
    row = rows.payment.elicitation
    assert row
    with transaction.atomic():
        queue.publish(rows.agent, "elicitation.refused", row.snapshot(), row)
    Refund.objects.update(status="failed")
    Attempt.objects.create(
        elicitation=row, state_hash="s", browser_hash="b", stash="", context="drive",
        created_at=clock.now() - timedelta(minutes=20), expires_at=clock.now() - timedelta(minutes=10),
    )  # fmt: skip
    bad = {one.what for one in timeline.of(row) if one.bad}
    assert bad == {"refused", "refund", "no way back from drive any more"}
    assert "Somebody else, signed in, tried to use the link and was refused." in page(admin, row)


def test_the_story_of_several_steps_is_one(rows: Rows) -> None:
    whole = elicitation(rows.agent)
    Elicitation.objects.filter(pk=whole.pk).update(kind="steps")
    whole.refresh_from_db()
    step = elicitation(rows.agent)
    Elicitation.objects.filter(pk=step.pk).update(parent=whole, place=1)
    Attempt.objects.create(
        elicitation=step, state_hash="s", browser_hash="b", stash="", context="drive",
        created_at=clock.now(), expires_at=clock.now() + timedelta(minutes=10),
    )  # fmt: skip
    assert "sent to drive" in [one.what for one in timeline.of(whole)]
