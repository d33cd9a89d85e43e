"""The audit page: who had access in a period, what was answered and paid, and what operators did."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elicit_flows.admin import audit_lists
from elicit_flows.admin.audit_lists import AUDIT_LISTS, AuditFilter
from elicit_flows.admin.audit_log import record
from elicit_flows.admin.base import MAX_CSV_ROWS
from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock
from elicit_flows.models import Connection, ConnectionUse, Elicitation, Member, Payment
from tests.admin.rows import ALICE, CANARIES, ISSUER, Rows, agent, elicitation, payment
from tests.admin.test_grants import enter

pytestmark = pytest.mark.slow

PAGE = "/admin/audit/"
OCTOBER = datetime(2026, 10, 1, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
PERIOD = AuditFilter(OCTOBER, NOVEMBER)
FORM = {"since": "2026-10-01", "until": "2026-10-31"}


def connected(rows: Rows, account: str, at: datetime, **more: Any) -> Connection:
    said = {"agent": rows.agent, "provider": rows.provider, "iss": ISSUER, "sub": "alice", **more}
    return Connection.objects.create(account_id=account, account_label=account, created_at=at, **said)


def used(row: Connection, action: str, at: datetime, actor: str = "agent") -> None:
    hour = at.replace(minute=0, second=0, microsecond=0)
    ConnectionUse.objects.create(connection=row, action=action, actor=actor, hour=hour, first_at=at, last_at=at)


def listed(what: str, wanted: AuditFilter = PERIOD) -> list[Any]:
    return list(AUDIT_LISTS[what].rows(wanted))


@pytest.fixture
def october(rows: Rows) -> Rows:
    """Connections at the edges of the month, and those that ended before, in and after it."""
    Connection.objects.all().delete()
    before, after = OCTOBER - INSTANT, NOVEMBER
    connected(rows, "before", before)
    connected(rows, "first", OCTOBER)
    connected(rows, "last", NOVEMBER - INSTANT)
    connected(rows, "after", after)
    for name, end in (("ended-before", before), ("ended-first", OCTOBER), ("ended-after", after)):
        row = connected(rows, name, before - timedelta(days=9), status="revoked", revoked_at=end)
        used(row, "revoked", end, "person")
    for name, end in (("lapsed-before", before), ("lapsed-in", OCTOBER)):
        row = connected(rows, name, before - timedelta(days=9), status="reauthorization_required")
        used(row, "lapsed", end, "provider")
    connected(rows, "lapsed-long-ago", before - timedelta(days=900), status="reauthorization_required")
    return rows


def test_who_had_access_in_a_period(october: Rows) -> None:
    assert {row.account_id for row in listed("made")} == {"first", "last"}
    assert {row.account_id for row in listed("live")} == {
        "before", "first", "last", "ended-first", "ended-after", "lapsed-in",
    }  # fmt: skip
    assert {row.connection.account_id for row in listed("ended")} == {"ended-first", "lapsed-in"}
    first = Connection.objects.get(account_id="first")
    for at, action in ((OCTOBER, "fetched"), (NOVEMBER - INSTANT, "opened"), (OCTOBER, "refreshed"),
                       (OCTOBER - INSTANT, "fetched"), (NOVEMBER, "opened")):  # fmt: skip
        used(first, action, at)
    assert [(row.action, row.last_at) for row in listed("used")] == [
        ("opened", NOVEMBER - INSTANT), ("fetched", OCTOBER),
    ]  # fmt: skip


def test_what_was_answered_paid_and_done_in_a_period(rows: Rows, olga: User) -> None:
    said, asked = elicitation(rows.agent), elicitation(rows.agent)
    Elicitation.objects.filter(pk__in=[said.pk, asked.pk]).update(kind="confirm")
    Elicitation.objects.filter(pk=said.pk).update(status="completed", finished_at=OCTOBER)
    assert [row.pk for row in listed("confirms")] == [said.pk]
    Payment.objects.filter(pk=rows.payment.pk).update(created_at=NOVEMBER - INSTANT)
    assert [row.pk for row in listed("payments")] == [rows.payment.pk]
    for what, at in (("Before.", OCTOBER - INSTANT), ("First.", OCTOBER), ("After.", NOVEMBER)):
        record(olga, what)
        LogEntry.objects.filter(change_message=what).update(action_time=at)
    assert [row.change_message for row in listed("acts")] == ["First."]


def test_one_person_one_agent_and_one_operator_are_told_apart(rows: Rows, olga: User) -> None:
    paul = User.objects.create_user("paul", is_staff=True)
    other = agent("other-bot")
    theirs = connected(rows, "b", clock.now(), agent=other, sub="bob")
    paid = payment(other, rows.account)
    Payment.objects.filter(pk=paid.pk).update(sub="bob")
    local = Member.objects.create(name="Ines")
    for who, row in (
        (olga, rows.elicitation), (olga, rows.connection), (paul, rows.payment), (olga, rows.delivery),
        (paul, rows.agent), (paul, theirs), (paul, other), (olga, local),
    ):  # fmt: skip
        record(who, f"Did it to {row.pk}.", row)

    def about(**more: Any) -> set[str | None]:
        wanted = AuditFilter(clock.now() - timedelta(days=1), clock.now() + timedelta(days=1), **more)
        return {row.object_id for row in listed("acts", wanted)}

    mine = {rows.elicitation.pk, rows.connection.pk, rows.payment.pk, rows.delivery.pk}
    assert about(claim=ALICE) == mine
    assert about(claim=Claim(ISSUER, "bob")) == {theirs.pk}
    assert about(agent=other) == {theirs.pk, str(other.pk)}
    assert about(agent=rows.agent) == mine | {str(rows.agent.pk)}
    assert about(agent=rows.agent, operator=paul) == {rows.payment.pk, str(rows.agent.pk)}
    assert about(claim=Claim(ISSUER, "alice"), agent=other) == set()
    ever = AuditFilter(clock.now() - timedelta(days=1), clock.now() + timedelta(days=1), claim=Claim(ISSUER, "bob"))
    assert {row.pk for row in listed("made", ever)} == {theirs.pk}
    assert {row.pk for row in listed("payments", ever)} == {paid.pk}
    for name in AUDIT_LISTS:
        assert listed(name, ever) or name in {"used", "ended", "confirms"}


def test_a_person_is_searched_for_without_being_in_the_address(admin: Client, rows: Rows) -> None:
    answer = admin.post(PAGE, {"what": "made", "who": "alice", "agent": "drive-bot"})
    assert "alice" not in answer["Location"]
    assert f"person={rows.elicitation.pk}" in answer["Location"] or "person=el_" in answer["Location"]
    shown = admin.get(answer["Location"]).text
    assert f"{ISSUER} alice" in shown
    assert "alice@drive" in shown
    assert '<option value="drive-bot" selected>' in shown
    assert "Nobody was found." in admin.post(PAGE, {"who": "nobody"}).text
    twin = elicitation(rows.agent)
    Elicitation.objects.filter(pk=twin.pk).update(iss="https://other.example.com")
    assert "Several people were found." in admin.post(PAGE, {"who": "alice"}).text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"since": "1.10.2026"}, "Write the days as year"),
        ({"until": "2026-13-01"}, "Write the days as year"),
        ({"until": "9999-12-31"}, "Write the days as year"),
        ({"since": "2026-10-02", "until": "2026-10-01"}, "The first day must not be after the last."),
    ],
)
def test_a_period_that_is_none_is_said(admin: Client, wrong: dict[str, str], said: str) -> None:
    assert said in admin.post(PAGE, wrong).text
    assert admin.get(PAGE, wrong).status_code == 200


@pytest.mark.parametrize("what", AUDIT_LISTS)
def test_t113_a_download_is_signed_and_noted(october: Rows, olga: User, what: str, tmp_path: Path) -> None:
    record(olga, "=1+1")
    LogEntry.objects.update(action_time=OCTOBER)
    used(Connection.objects.get(account_id="first"), "fetched", OCTOBER)
    Payment.objects.update(created_at=OCTOBER)
    Elicitation.objects.update(kind="confirm", finished_at=OCTOBER, status="completed")
    count = len(listed(what))
    auditor = enter("auditor")
    answer = auditor.post(PAGE, {**FORM, "what": what, "download": "yes"})
    assert answer["Content-Disposition"] == f'attachment; filename="{what}-2026-10-01-2026-10-31.zip"'
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path)
    file = tmp_path / f"{what}-2026-10-01-2026-10-31.csv"
    found = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert len(found) == count > 0
    assert tuple(found[0]) == AUDIT_LISTS[what].columns
    if what == "acts":
        assert [row["what"] for row in found] == ["'=1+1"], "a spreadsheet runs nothing of it"
    assert not [one for one in CANARIES if one in file.read_text()]
    out = io.StringIO()
    call_command("verify", str(file), stdout=out)
    assert " signed at " in out.getvalue()
    note = LogEntry.objects.order_by("-pk")[0].get_change_message()
    assert note == f"Exported the audit of 2026-10-01 to 2026-10-31, {what}: {count} rows, signed."


def test_a_period_with_too_many_rows_is_no_file(admin: Client, olga: User) -> None:
    about = {"user": olga, "action_flag": CHANGE, "object_repr": "x", "change_message": "Did it."}
    LogEntry.objects.bulk_create(LogEntry(**about) for _ in range(MAX_CSV_ROWS + 1))
    answer = admin.post(PAGE, {"what": "acts", "download": "yes"})
    assert "This period has more than 50000 rows." in answer.text
    assert "over 1000" in answer.text
    assert LogEntry.objects.count() == MAX_CSV_ROWS + 1


@pytest.mark.parametrize("role", ["viewer", "auditor", "operator", "administrator"])
def test_t112_a_viewer_has_no_audit(rows: Rows, role: str) -> None:
    browser, status = enter(role), 403 if role == "viewer" else 200
    assert browser.get(PAGE).status_code == status
    assert browser.post(PAGE, {"what": "made", "download": "yes"}).status_code == status
    assert (PAGE in browser.get("/admin/").text) == (role != "viewer")


def test_every_line_of_every_part_leads_somewhere(admin: Client, october: Rows, olga: User) -> None:
    record(olga, "Cancelled.", october.elicitation)
    record(olga, "Signed in.")
    LogEntry.objects.update(action_time=OCTOBER)
    used(Connection.objects.get(account_id="first"), "fetched", OCTOBER)
    Payment.objects.update(created_at=OCTOBER)
    Elicitation.objects.update(kind="confirm", finished_at=OCTOBER, status="completed")
    for what in AUDIT_LISTS:
        shown = admin.get(PAGE, {**FORM, "what": what}).text
        links = re.findall(r'href="(/admin/[^"]+)"', shown.partition('id="found"')[2].partition("</section>")[0])
        assert links, what
        for link in set(links):
            assert admin.get(link).status_code == 200, (what, link)


def test_long_lists_have_pages_and_ask_no_more_than_short_ones(admin: Client, rows: Rows, olga: User) -> None:
    def asked(what: str) -> int:
        with CaptureQueriesContext(connection) as caught:
            assert admin.get(PAGE, {"what": what}).status_code == 200
        return len(caught)

    def more(count: int) -> None:
        for _ in range(count):
            bot = agent(f"bot-{Connection.objects.count()}")
            row = connected(rows, f"x{Connection.objects.count()}", clock.now(), agent=bot)
            for action in ("fetched", "revoked"):
                used(row, action, clock.now())
            payment(bot, rows.account)
            record(olga, "Did it.", row)
        Elicitation.objects.update(kind="confirm", finished_at=clock.now())

    more(1)
    asked("acts")
    before = {what: asked(what) for what in AUDIT_LISTS}
    more(55)
    assert {what: asked(what) for what in AUDIT_LISTS} == before
    for what in AUDIT_LISTS:
        first, second = (admin.get(PAGE, {"what": what, "page": page}).text for page in (1, 2))
        assert 'rel="next"' in first, what
        assert 'rel="next"' not in second
        assert "Back to the first page" in second


def test_every_action_and_actor_has_words() -> None:
    assert set(audit_lists.ACTORS) == set(ConnectionUse.Actor)
