"""T113: the export of the connections of a month, for auditors."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client

from elicit_flows import vault
from elicit_flows.admin import connections
from elicit_flows.lib import clock
from tests.admin.rows import CANARIES, Rows


@pytest.fixture
def november(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 11, 21, tzinfo=UTC))


def enter(role: str) -> Client:
    user = User.objects.create_user(f"one-{role}", is_staff=True)
    user.groups.set([Group.objects.get(name=role)])
    browser = Client()
    browser.force_login(user)
    return browser


def granted(rows: Rows, at: datetime, account: str) -> None:
    vault.Connection.objects.create(
        agent=rows.agent, provider=rows.provider, iss=rows.connection.iss, sub="=1+1", account_id=account,
        created_at=at, scopes=["a", "b"],
    )  # fmt: skip


def test_t113_an_auditor_takes_a_month_of_grants_and_that_is_noted(rows: Rows, november: None) -> None:
    vault.Connection.objects.all().delete()
    for at, account in (
        (datetime(2026, 9, 30, 23, 59, 59, 999999, tzinfo=UTC), "before"),
        (datetime(2026, 10, 1, tzinfo=UTC), "first"),
        (datetime(2026, 10, 31, 23, 59, 59, 999999, tzinfo=UTC), "last"),
        (datetime(2026, 11, 1, tzinfo=UTC), "after"),
    ):
        granted(rows, at, account)
    auditor = enter("auditor")
    answer = auditor.post("/admin/grants/", {"month": "2026-10"})
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    found = list(csv.DictReader(io.StringIO(text)))
    assert [one["account_id"] for one in found] == ["first", "last"]
    assert tuple(found[0]) == connections.EXPORT_COLUMNS
    assert {one["sub"] for one in found} == {"'=1+1"}, "a spreadsheet runs nothing of it"
    assert (found[0]["agent"], found[0]["provider"], found[0]["scopes"]) == ("drive-bot", "drive", "a b")
    assert found[0]["granted_at"] == "2026-10-01T00:00:00.000000Z"
    assert not [one for one in CANARIES if one in text]
    [entry] = LogEntry.objects.all()
    assert entry.get_change_message() == "Exported the grants of 2026-10: 2 rows."


def test_the_months_are_offered_the_newest_first(rows: Rows, november: None) -> None:
    page = enter("auditor").get("/admin/grants/").text
    assert "<option>2026-11</option><option>2026-10</option>" in page
    assert "<option>2023-12</option>" in page
    assert "2026-12" not in page


@pytest.mark.parametrize("month", ["2026-13", "2031-01", "x", "' or 1"])
def test_another_month_is_no_file(rows: Rows, november: None, month: str) -> None:
    answer = enter("auditor").post("/admin/grants/", {"month": month})
    assert answer["Content-Type"].startswith("text/html")
    assert not LogEntry.objects.exists()


def test_t112_a_viewer_gets_no_grants(rows: Rows) -> None:
    browser = enter("viewer")
    assert browser.get("/admin/grants/").status_code == 403
    assert browser.post("/admin/grants/", {"month": "2026-11"}).status_code == 403
    assert "/admin/grants/" not in browser.get("/admin/").text
