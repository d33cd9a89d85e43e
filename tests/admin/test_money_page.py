"""The page of money: the sums of a period by account, agent and currency, and the file of its lines."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from elicit_flows.models import Agent, Mandate, Payment, PaymentAccount, Refund, Renewal, Subscription
from elicit_flows.payments import bookkeeping
from elicit_flows.payments.bookkeeping import Entry, Period
from tests.admin.rows import ALICE, CANARIES, Rows
from tests.admin.test_grants import enter

PAGE = "/admin/money/"
OCTOBER, NOVEMBER = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
PERIOD = {"since": "2026-10-01", "until": "2026-10-31"}


def paid(rows: Rows, amount: int, at: datetime = OCTOBER, **more: Any) -> Payment:
    said = {
        "agent": rows.agent, "account": rows.account, "iss": ALICE.iss, "sub": ALICE.sub, "mode": "pay",
        "currency": "eur", "description": "=A report", "status": "paid", "created_at": at, "paid_at": at,
        "payment_ref": f"pi_{Payment.objects.count()}", **more,
    }  # fmt: skip
    return Payment.objects.create(amount=amount, **said)


def returned(payment: Payment, amount: int, at: datetime = OCTOBER, status: str = "done") -> Refund:
    return Refund.objects.create(
        payment=payment, payment_ref=payment.payment_ref, amount=amount, by="agent", status=status, done_at=at,
        ref=f"re_{Refund.objects.count()}",
    )  # fmt: skip


@pytest.fixture
def october(rows: Rows) -> Rows:
    """Money of one month, of two agents, at two accounts, in two currencies; and of the instants around it."""
    for model in (Refund, Payment):
        model.objects.all().delete()
    other = Agent.objects.create(slug="other", name="Other Bot", key_hash="x")
    live = PaymentAccount.objects.create(slug="live", provider="stripe", livemode=True)
    one = paid(rows, 1000)
    paid(rows, 1, OCTOBER - INSTANT)
    paid(rows, 2, NOVEMBER)
    paid(rows, 500, NOVEMBER - INSTANT, disputed="open")
    paid(rows, 700, currency="usd")
    paid(rows, 900, status="closed")
    paid(rows, 0, mode="save", status="saved")
    paid(rows, 800, status="mismatch", paid_at=None)
    paid(rows, 3000, agent=other, account=live)
    returned(one, 300)
    returned(one, 50, OCTOBER - INSTANT)
    returned(one, 60, status="pending")
    monthly = paid(rows, 2000, mode="subscribe", status="active")
    followed = Subscription.objects.create(
        agent=rows.agent, account=rows.account, payment=monthly, iss=ALICE.iss, sub=ALICE.sub, ref="sub_1", amount=2000
    )
    for number, status in enumerate(("paid", "failed")):
        Renewal.objects.create(
            subscription=followed, ref=f"in_{number}", amount=2000, currency="eur", status=status, paid_at=OCTOBER,
            period_start=OCTOBER, period_end=NOVEMBER,
        )  # fmt: skip
    limits = {"per_charge": 1, "total": 1, "until": NOVEMBER, "currency": "eur", "description": "Charges"}
    Mandate.objects.create(
        agent=rows.agent, account=rows.account, payment=one, iss=ALICE.iss, sub=ALICE.sub, status="active", **limits
    )
    return rows


def test_the_sums_are_those_of_the_period(october: Rows) -> None:
    found = bookkeeping.totals(Period(OCTOBER, NOVEMBER))
    names = ("charges", "charged", "refunds", "refunded", "net", "disputes", "disputed", "mismatches", "mandates")
    assert [
        (one.account.slug, one.agent.slug, one.currency, *(getattr(one, name) for name in names)) for one in found
    ] == [
        ("live", "other", "eur", 1, 3000, 0, 0, 3000, 0, 0, 0, 0),
        ("main", "drive-bot", "eur", 4, 5500, 1, 300, 5200, 1, 500, 1, 1),
        ("main", "drive-bot", "usd", 1, 700, 0, 0, 700, 0, 0, 0, 0),
    ]
    mine = bookkeeping.totals(Period(OCTOBER, NOVEMBER, agent=october.agent, account=october.account))
    assert [(one.agent.slug, one.currency) for one in mine] == [("drive-bot", "eur"), ("drive-bot", "usd")]


def test_the_page_shows_them(october: Rows, admin: Client) -> None:
    text = admin.get(PAGE, PERIOD).text.replace("\xa0", " ")
    for said in ("€55.00 (4)", "€3.00 (1)", "€52.00", "€5.00 (1)", "$7.00 (1)", "€30.00 (1)", "Other Bot"):
        assert said in text, said
    assert "status__exact=mismatch" in text
    assert "Other Bot · EUR" not in admin.get(PAGE, {**PERIOD, "agent": october.agent.slug}).text
    assert not [one for one in CANARIES if one in text]
    assert ALICE.sub not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"since": "yesterday"}, "Write the days as year, month and day"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "The first day must not be after the last."),
        ({"agent": "nobody", "account": "nothing"}, "Nothing in this period."),
        ({"since": "2020-01-01", "until": "2020-01-31"}, "Nothing in this period."),
    ],
)
def test_bad_days_are_answered(admin: Client, rows: Rows, given: dict[str, str], said: str) -> None:
    for model in (Refund, Payment):
        model.objects.all().delete()
    answer = admin.get(PAGE, given)
    assert answer.status_code == 200
    assert said in answer.text


def test_t113_the_file_has_each_line_is_signed_and_noted(october: Rows, olga: User, tmp_path: Path) -> None:
    browser = Client()
    browser.force_login(olga)
    answer = browser.post(PAGE, PERIOD)
    assert answer["Content-Disposition"] == 'attachment; filename="money-2026-10-01-2026-10-31.zip"'
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path)
    file = tmp_path / "money-2026-10-01-2026-10-31.csv"
    out = io.StringIO()
    call_command("verify", str(file), stdout=out)
    assert " signed at " in out.getvalue()
    lines = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert list(lines[0]) == [*Entry.__dataclass_fields__]
    sums: dict[tuple[str, str], int] = {}
    for line in lines:
        key = line["sort"], line["currency"]
        sums[key] = sums.get(key, 0) + int(line["amount"])
        assert line["description"] == "'=A report"  # no spreadsheet takes it for a formula
    assert sums == {("charge", "eur"): 6500, ("charge", "usd"): 700, ("renewal", "eur"): 2000, ("refund", "eur"): -300}
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    assert ALICE.sub not in file.read_text()
    note = LogEntry.objects.latest("action_time").get_change_message()
    assert note == f"Exported the money of 2026-10-01 to 2026-10-31: {len(lines)} rows, signed."


@pytest.mark.parametrize(
    ("role", "seen", "taken"), [("viewer", 200, 403), ("auditor", 200, 200), ("operator", 200, 200)]
)
def test_t113_who_may_see_money_and_who_may_take_the_file(rows: Rows, role: str, seen: int, taken: int) -> None:
    browser = enter(role)
    assert browser.get(PAGE).status_code == seen
    assert browser.post(PAGE, PERIOD).status_code == taken
    assert Client().get(PAGE).status_code == 302


def test_a_period_with_too_many_lines_is_not_cut_off(
    october: Rows, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicit_flows.admin.money_page.MAX_CSV_ROWS", 6)
    answer = admin.post(PAGE, PERIOD)
    assert answer["Content-Type"].startswith("text/html")
    assert "This period has more than 6 rows." in answer.text
