"""The front page, what it finds, and where it leads."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from elicit_flows import tallies, vault
from elicit_flows.admin import attention, figures
from elicit_flows.admin.charts import Bars, quantile
from elicit_flows.lib import clock, tally
from elicit_flows.models import Agent, Delivery, Erasure, Payment, PaymentAccount, Provider, Refund, Tally, VaultKey
from elicit_flows.models.tally import EVER
from tests.admin.rows import Rows, elicitation, payment


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    tally.take()


def counted(name: str, *labels: str, count: int = 1, ago: timedelta = timedelta()) -> None:
    hour = (clock.now() - ago).replace(minute=0, second=0, microsecond=0)
    Tally.objects.create(hour=hour, name=name, labels=json.dumps(labels), count=count)


def titles() -> list[str]:
    return [one.title for one in attention.notices()]


def trouble(rows: Rows) -> dict[str, Callable[[], Any]]:
    """What may go wrong, by what the page then says."""
    long_ago = clock.now() - timedelta(minutes=10)
    return {
        "Webhooks are not being sent": lambda: Delivery.objects.update(next_at=long_ago),
        "Drive does not answer": lambda: counted("provider_errors", "drive", "refresh", count=3),
        "Drive refuses us": lambda: counted("refreshes", "drive", "refused"),
        "corp does not answer": lambda: counted("provider_errors", "corp", "sign_in"),
        "Drive-Bot gets no webhooks any more": lambda: Agent.objects.update(webhook_disabled_at=clock.now()),
        "The endpoint of Drive-Bot fails": lambda: Agent.objects.update(webhook_failures=3),
        "Deliveries were given up: 1": lambda: Delivery.objects.update(status="failed"),
        "Money came otherwise than asked: 1": lambda: payment(rows.agent, rows.account, status="mismatch"),
        "Refunds failed: 1": lambda: Refund.objects.update(status="failed"),
        "Payments are disputed: 1": lambda: Payment.objects.update(disputed="open"),
        "Webhooks of the other mode come to main": lambda: PaymentAccount.objects.update(ignored=2),
        "Drive ended grants: 2 in a day": lambda: counted(
            "refreshes", "drive", "dead", count=2, ago=timedelta(hours=20)
        ),
        "People wait to be deleted: 1": lambda: Erasure.objects.create(
            iss="i", sub="s", asked_at=clock.now() - timedelta(days=5)
        ),
        "Drive is switched off": lambda: Provider.objects.filter(slug="drive").update(enabled=False),
        "A vault key can be retired: k0": lambda: VaultKey.objects.create(key_id="k0", sealed="x"),
    }


@pytest.mark.parametrize("number", range(15))
def test_what_goes_wrong_is_said_and_what_is_well_is_not(admin: Client, rows: Rows, number: int) -> None:
    before = titles()
    said, happens = list(trouble(rows).items())[number]
    happens()
    assert set(titles()) - set(before) == {said}
    page = admin.get("/admin/").text
    assert said in page
    for name, url in next(one.links for one in attention.notices() if one.title == said):
        assert admin.get(url).status_code == 200, name


def test_development_settings_and_a_missing_factor_are_said(db: None, settings: Settings) -> None:
    settings.ELICIT_ALLOW_LOOPBACK = True
    assert "Development settings are on" in titles()
    settings.ELICIT_ALLOW_LOOPBACK = False
    assert "Operators need no second factor" in titles()
    settings.ELICIT_ADMIN_SECOND_FACTOR = True
    settings.SECRET_KEY_FALLBACKS = ["older"]
    assert titles() == ["An earlier SECRET_KEY still counts"]


def test_what_is_over_is_not_said(rows: Rows) -> None:
    counted("provider_errors", "drive", "refresh", ago=timedelta(hours=3))
    counted("refreshes", "drive", "dead", ago=timedelta(hours=30))
    row = payment(rows.agent, rows.account, status="mismatch")
    Refund.objects.create(payment=row, payment_ref="x", amount=1, by="operator", status="done")
    Provider.objects.update(enabled=False)
    counted("provider_errors", "drive", "refresh")
    assert titles() == ["Drive is switched off", "Operators need no second factor"]


def test_the_page_of_a_busy_service_asks_no_more_than_that_of_a_quiet_one(admin: Client, rows: Rows) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as caught:
            admin.get("/admin/")
        return len(caught)

    before = asked()
    for number in range(30):
        counted("elicitations", "oauth", "completed", "", "30", ago=timedelta(hours=number))
        Delivery.objects.create(agent=rows.agent, event=rows.event, status="failed")
    assert asked() <= before + 1


def test_figures_are_by_hour_and_by_day_and_in_the_table_too(admin: Client) -> None:
    for ago, count in ((0, 4), (5, 3), (23, 2), (24 * 20, 8), (24 * 40, 100)):
        counted("elicitations", "oauth", "completed", "", "30", count=count, ago=timedelta(hours=ago))
    counted("elicitations", "payment", "failed", "payment_mismatch", "60", count=5)
    day, month = figures.of(figures.SPANS["24h"]), figures.of(figures.SPANS["30d"])
    assert dict(day.over.totals)["completed"] == 9
    assert dict(month.over.totals)["completed"] == 17
    assert [len(day.over.rows), len(month.over.rows)] == [24, 30]
    assert [(one.name, one.count, one.width) for one in day.failures] == [("payment: payment_mismatch", 5, 100.0)]
    page = admin.get("/admin/?span=30d").text
    assert page.count("<td>8</td>") == 1
    assert "completed <strong>17</strong>" in page
    assert "script" not in page.partition('id="figures"')[2].partition("</section>")[0]


def test_bars_stand_on_each_other_and_the_highest_fills_the_height() -> None:
    hours = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(2)]
    pieces = Bars("x", ("a", "b"), ((hours[0], (3, 1)), (hours[1], (0, 2)))).pieces
    assert [(one.series, one.y, one.height) for one in pieces] == [(1, 90, 30), (0, 0, 90), (1, 60, 60)]


@pytest.mark.parametrize(
    ("wanted", "buckets", "value"),
    [
        (0.5, [(10, 2), (20, 2)], 10.0),
        (0.75, [(10, 2), (20, 2)], 15.0),
        (0.9, [(10, 0), (20, 10), (float("inf"), 0)], 19.0),
        (0.9, [(10, 1), (float("inf"), 9)], 10),
        (0.5, [(10, 0)], None),
    ],
)
def test_a_quantile_is_estimated_within_its_bucket(wanted: float, buckets: Any, value: float | None) -> None:
    assert quantile(wanted, buckets) == value


def test_what_was_counted_adds_up_over_processes_and_over_all_time(db: None) -> None:
    for seconds in (3.0, 4.0):
        tally.count("elicitations", "oauth", "completed", "", tally.bucket(seconds), seconds=seconds)
        tallies.keep()
    [one] = tallies.ever("elicitations").values()
    assert (one.count, one.sum) == (2, 7.0)
    assert Tally.objects.exclude(hour=EVER).get().count == 2


def test_what_cannot_be_kept_is_kept_the_next_time(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    tally.count("deliveries", "delivered", by=3)
    with monkeypatch.context() as patch:
        patch.setattr(tallies, "_ADD", "nonsense")
        tallies.keep_if_possible()
    tally.count("deliveries", "delivered")
    tallies.keep()
    assert tallies.ever("deliveries")[("delivered",)].count == 4


# Search


def found(browser: Client, wanted: str) -> str:
    return browser.post("/admin/search/", {"q": wanted}).text


@pytest.mark.parametrize("name", ["elicitation", "event", "delivery", "connection", "payment", "refund"])
def test_an_id_leads_to_its_page(admin: Client, rows: Rows, name: str) -> None:
    row = getattr(rows, name)
    answer = admin.post("/admin/search/", {"q": f" {row.pk} "})
    assert answer["Location"] == f"/admin/elicit_flows/{name}/{quote(row.pk)}/change/"


def test_a_link_leads_to_its_elicitation(admin: Client, rows: Rows) -> None:
    answer = admin.post("/admin/search/", {"q": f"{rows.elicitation.url}/done"})
    assert quote(rows.elicitation.pk) in answer["Location"]


def test_a_person_is_found_by_sub_and_by_both_letter_for_letter(admin: Client, rows: Rows) -> None:
    mine, other = rows.elicitation.pk, elicitation(rows.agent, "alice2").pk
    for wanted in ("alice", f"{rows.elicitation.iss} alice"):
        page = found(admin, wanted)
        assert quote(mine) in page
        assert quote(rows.connection.pk) in page
        assert quote(rows.payment.pk) in page
        assert quote(other) not in page
    for wanted in ("Alice", "alic", "https://idp.example.com/ alice", "%", "el_nothing", ""):
        assert quote(mine) not in found(admin, wanted), wanted


def test_agents_and_providers_are_found_with_what_hangs_on_them(admin: Client, rows: Rows) -> None:
    for wanted in ("drive-bot", "Drive", "corp", "main"):
        assert "settings" in found(admin, wanted), wanted
    assert f"connection/?provider__id__exact={rows.provider.pk}" in found(admin, "drive")
    assert f"elicitation/?agent__id__exact={rows.agent.pk}" in found(admin, "drive-bot")


def test_t112_who_sees_no_people_finds_none_and_nobody_is_in_an_address(admin: Client, rows: Rows) -> None:
    viewer = User.objects.create_user("vera", is_staff=True)
    viewer.groups.set([Group.objects.get(name="viewer")])
    browser = Client()
    browser.force_login(viewer)
    assert quote(rows.elicitation.pk) not in found(browser, "alice")
    assert quote(rows.elicitation.pk) not in admin.get("/admin/search/?q=alice").text
    assert vault.Connection.objects.count() == 1
