"""The page of one request: its story, what its agent was told, and what an operator can do about it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elicit_flows import events
from elicit_flows.admin import story
from elicit_flows.admin.base import admin_url, list_url
from elicit_flows.domain.status import Status
from elicit_flows.elicitations import user_codes
from elicit_flows.elicitations.transitions import move
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Attempt, Delivery, Elicitation, Event, Payment, Refund
from tests.admin.rows import CANARIES, Rows, elicitation
from tests.admin.test_grants import enter

TIME = re.compile(r'<time datetime="([^"]+)">')


def address(row: Elicitation) -> str:
    return f"/admin/request/{row.pk}/"


def told(row: Elicitation, *, acts: bool = False) -> list[story.Entry]:
    found = story.events_of(row)
    return story.tell(row, [row, *row.steps.all()], found, story.deliveries_of(found), acts=acts)


def completed(rows: Rows) -> Elicitation:
    """With a webhook that arrived at the second try, and one that waits."""
    row = rows.elicitation
    Attempt.objects.update(used_at=clock.now(), context="drive")
    with transaction.atomic():
        for status in (Status.STARTED, Status.SETTLING):
            assert move(row, status)
        assert move(row, Status.COMPLETED, result={"connection": rows.connection.pk})
    log = [{"at": clock.rfc3339(clock.now()), "status": status, "note": "", "milliseconds": 9} for status in (500, 200)]
    of = Delivery.objects.filter(event__elicitation=row)
    of.filter(event__type="elicitation.completed").update(log=log, status="delivered", tries=2)
    later = clock.now() + timedelta(hours=1)
    of.filter(event__type="elicitation.started").update(next_at=later, tries=1, log=log[:1])
    of.filter(event__type="elicitation.created").update(status="failed", tries=10, log=log[:1])
    return row


def test_everything_that_happened_is_told_in_order(admin: Client, rows: Rows) -> None:
    row = completed(rows)
    entries = told(row)
    said = [one.what for one in entries]
    for what in (
        "The agent asked", "The person began", "The answer came back", "Completed", "Sent to drive",
        "Back from drive, or started over", "Connected", "Webhook “elicitation.completed”: 500 in 9 ms",
        "Webhook “elicitation.completed”: 200 in 9 ms", "Webhook “elicitation.started”: next try",
    ):  # fmt: skip
        assert said.count(what) == 1, (what, said)
    assert {one.what for one in entries if one.bad} == {
        f"Webhook “elicitation.{name}”: 500 in 9 ms" for name in ("completed", "started", "created")
    }
    assert entries == sorted(entries, key=lambda one: one.at)
    shown = admin.get(address(row)).text
    times = TIME.findall(shown.partition('class="story"')[2].partition("</ol>")[0])
    assert times == [one.at.isoformat(timespec="microseconds") for one in entries]
    assert not [one for one in CANARIES if one in shown]


def test_whether_the_agent_was_told_is_said_for_each_event(admin: Client, rows: Rows) -> None:
    row = completed(rows)
    Delivery.objects.filter(event__type="elicitation.settling").delete()
    shown = admin.get(address(row)).text
    assert "It arrived, after 2 tries." in shown
    assert "Not yet: 1 try failed. Last answer: 500. Next try: " in shown
    assert "Given up after 10 tries. Last answer: 500." in shown
    assert "No webhook was sent" in shown
    Agent.objects.update(webhook_disabled_at=clock.now())
    stopped = "the webhooks of this agent were stopped, because its endpoint answered 410 Gone"
    assert stopped in admin.get(address(row)).text


def test_what_went_wrong_stands_out(admin: Client, rows: Rows) -> None:
    row = rows.payment.elicitation
    assert row
    with transaction.atomic():
        events.publish(rows.agent, "elicitation.refused", row.snapshot(), row)
    Refund.objects.update(status="failed")
    Attempt.objects.create(
        elicitation=row, state_hash="s", browser_hash="b", stash="", context="drive",
        created_at=clock.now() - timedelta(minutes=20), expires_at=clock.now() - timedelta(minutes=10),
    )  # fmt: skip
    bad = {one.what for one in told(row) if one.bad}
    assert bad == {"Somebody else was refused", "A refund was requested", "Not back from drive in time"}
    assert "They were signed in as another person" in admin.get(address(row)).text
    with transaction.atomic():
        assert move(row, Status.STARTED)
        assert move(row, Status.FAILED, error={"code": "provider_error", "message": "It would not."})
    shown = admin.get(address(row)).text
    assert "provider_error" in shown
    assert shown.count("It would not.") == 2


def test_the_story_of_several_steps_is_one_and_a_step_leads_to_it(admin: Client, rows: Rows) -> None:
    whole = elicitation(rows.agent)
    Elicitation.objects.filter(pk=whole.pk).update(kind="steps")
    whole.refresh_from_db()
    step = elicitation(rows.agent)
    Elicitation.objects.filter(pk=step.pk).update(parent=whole, place=1)
    Attempt.objects.create(
        elicitation=step, state_hash="s", browser_hash="b", stash="", context="drive",
        created_at=clock.now(), expires_at=clock.now() + timedelta(minutes=10),
    )  # fmt: skip
    assert "Sent to drive" in [one.what for one in told(whole)]
    assert admin.get(address(step))["Location"] == address(whole)


def test_the_list_and_all_the_fields_say_where_it_stands_in_the_same_words(admin: Client, rows: Rows) -> None:
    listed = admin.get(list_url(Elicitation), headers={"accept-language": "de"}).text
    assert re.findall(r'<a href="\?status=pending[^>]*>\s*(\S+)\s*</a>', listed) == ["Wartet"], "the filter"
    fields = admin.get(admin_url(rows.elicitation), headers={"accept-language": "de"}).text
    for shown in (listed, fields):
        assert "Wartet" in shown
        assert ">pending<" not in shown


def test_it_is_found_by_its_link_its_code_and_its_id(admin: Client, rows: Rows) -> None:
    row = rows.elicitation
    code = user_codes.create_user_code(row)
    for wanted in (row.pk, f" {row.url}?x ", f"{row.url}/done", code, code.lower().replace("-", " ")):
        assert admin.post("/admin/search/", {"q": wanted})["Location"] == address(row), wanted
    assert admin.get("/admin/request/el_nothing/").status_code == 404


def test_t113_an_operator_cancels_it_and_that_is_noted_and_told(admin: Client, olga: User, rows: Rows) -> None:
    row = rows.elicitation
    assert "Cancel the request" in admin.get(address(row)).text
    answer = admin.post(address(row), {"action": "cancel", "row": row.pk}, follow=True)
    assert "1 request was cancelled." in answer.text
    assert "Cancel the request" not in answer.text
    assert "Operator olga" in answer.text
    rows.refresh()
    assert row.status == Status.CANCELLED
    assert Event.objects.filter(elicitation=row, type="elicitation.cancelled").count() == 1
    assert [(one.user, one.object_id, one.get_change_message()) for one in LogEntry.objects.all()] == [
        (olga, row.pk, "Cancelled.")
    ]
    again = admin.post(address(row), {"action": "cancel", "row": row.pk}, follow=True)
    assert "The others had ended already." in again.text
    assert LogEntry.objects.count() == 1


def test_t113_what_came_of_it_is_acted_on_by_the_actions_of_the_lists(admin: Client, rows: Rows) -> None:
    row = completed(rows)
    paid = rows.payment.elicitation
    assert paid
    failed = Delivery.objects.get(event__elicitation=row, status="failed")
    for at, action, pk in (
        (row, "revoke", rows.connection.pk), (row, "replay", failed.pk), (paid, "refund", rows.payment.pk),
    ):  # fmt: skip
        assert f'name="row" value="{pk}"' in admin.get(address(at)).text, action
        assert admin.post(address(at), {"action": action, "row": pk}).status_code == 302
    rows.refresh()
    failed.refresh_from_db()
    done = (rows.connection.status, failed.status, rows.payment.refunds.count())
    assert done == ("revoked", "pending", 2)
    assert {one.get_change_message() for one in LogEntry.objects.all()} == {
        "Revoked.", "Sent again.", "Requested a refund of €10.00.",
    }  # fmt: skip


@pytest.mark.parametrize("action", ["cancel", "revoke", "replay", "refund", "export_csv", "delete_selected", ""])
def test_a_button_does_nothing_to_what_belongs_to_another_request(admin: Client, rows: Rows, action: str) -> None:
    row, other = rows.elicitation, elicitation(rows.agent)
    for pk in (other.pk, rows.connection.pk, rows.payment.pk, ""):
        assert admin.post(address(row), {"action": action, "row": pk}).status_code == 404, (action, pk)
    rows.refresh()
    assert (rows.connection.status, rows.payment.refunds.count()) == ("active", 1)
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "auditor", "operator", "administrator"])
def test_t112_who_may_only_look_has_no_buttons_and_a_viewer_sees_no_person(rows: Rows, role: str) -> None:
    Elicitation.objects.update(sub="alice-the-person", message="Words for Alice")
    browser, row, acts = enter(role), rows.elicitation, role in {"operator", "administrator"}
    shown = browser.get(address(row)).text
    assert ('name="action"' in shown) == acts
    for word in ("alice-the-person", "Words for Alice"):
        assert (word in shown) == (role != "viewer"), word
    delivery = Delivery.objects.filter(event__elicitation=row).get()
    for action, pk in (("cancel", row.pk), ("replay", delivery.pk)):
        assert browser.post(address(row), {"action": action, "row": pk}).status_code == (302 if acts else 403)
    rows.refresh()
    assert (row.status == Status.CANCELLED) == acts
    assert bool(LogEntry.objects.count()) == acts


def test_t112_without_the_right_to_see_requests_there_is_no_page(rows: Rows) -> None:
    Group.objects.get(name="auditor").permissions.remove(Permission.objects.get(codename="view_elicitation"))
    browser = enter("auditor")
    assert browser.get(address(rows.elicitation)).status_code == 403
    assert browser.post(address(rows.elicitation), {"action": "cancel", "row": rows.elicitation.pk}).status_code == 403


def test_the_page_of_a_long_story_asks_no_more_than_that_of_a_short_one(admin: Client, rows: Rows) -> None:
    whole = rows.elicitation
    Elicitation.objects.filter(pk=whole.pk).update(kind="steps")

    def asked() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert admin.get(address(whole)).status_code == 200
        return len(caught)

    def lengthen() -> None:
        step = elicitation(rows.agent)
        paid = Payment.objects.create(
            agent=rows.agent, account=rows.account, iss="i", sub="s", mode="pay", amount=5, currency="eur",
            status="paid", payment_ref="x", elicitation=step,
        )  # fmt: skip
        Refund.objects.create(payment=paid, payment_ref="x", amount=1, by="agent", status="done")
        Elicitation.objects.filter(pk=step.pk).update(parent=whole, place=1, result={"connection": "cn_x"})
        with transaction.atomic():
            events.publish(rows.agent, "elicitation.started", whole.snapshot(), whole)

    lengthen()
    asked()
    before = asked()
    for _ in range(5):
        lengthen()
    assert asked() == before
