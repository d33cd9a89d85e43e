"""The front page of the admin: its alerts, the search, the statistics and the links."""

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

from elicit_flows import vault
from elicit_flows.admin import alerts, dashboard
from elicit_flows.admin.alerts import Alert
from elicit_flows.admin.dashboard import BarChart, quantile
from elicit_flows.job_table import BY_NAME
from elicit_flows.jobs import metrics_store
from elicit_flows.lib import clock, counters, health
from elicit_flows.models import (
    Agent,
    Cancellation,
    Delivery,
    Elicitation,
    Erasure,
    Health,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
    Tally,
    VaultKey,
)
from elicit_flows.models.counters import EVER
from tests.admin.rows import Rows, elicitation, payment
from tests.support.moving import MovingClock


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    counters.drain()
    health.drain()


def counted(name: str, *labels: str, count: int = 1, ago: timedelta = timedelta()) -> None:
    hour = (clock.now() - ago).replace(minute=0, second=0, microsecond=0)
    Tally.objects.create(hour=hour, name=name, labels=json.dumps(labels), count=count)


def failed(sort: str, slug: str, times: int = 1) -> None:
    for _ in range(times):
        health.failed(sort, slug, "provider_unavailable")
    metrics_store.keep()


def titles() -> list[str]:
    return [one.title for one in alerts.current_alerts()]


def trouble(rows: Rows) -> dict[str, Callable[[], Any]]:
    """What may go wrong, by what the page then says."""
    long_ago = clock.now() - timedelta(minutes=10)
    return {
        "Webhooks are not being sent": lambda: Delivery.objects.update(next_at=long_ago),
        "Drive does not answer": lambda: failed("provider", "drive", 3),
        "Drive refuses us": lambda: counted("refreshes", "drive", "refused"),
        "corp failed": lambda: failed("identity", "corp"),
        "Drive-Bot gets no webhooks any more": lambda: Agent.objects.update(webhook_disabled_at=clock.now()),
        "The endpoint of Drive-Bot fails": lambda: Agent.objects.update(webhook_failures=3),
        "Deliveries were given up: 1": lambda: Delivery.objects.update(status="failed"),
        "Payments with another amount or currency than requested: 1": lambda: payment(
            rows.agent, rows.account, status="mismatch"
        ),
        "Refunds failed: 1": lambda: Refund.objects.update(status="failed"),
        "Payments are disputed: 1": lambda: Payment.objects.update(disputed="open"),
        "Cancellations that a payment provider has not accepted: 1": lambda: Cancellation.objects.create(
            payment=rows.payment, asked_at=clock.now() - timedelta(hours=2), try_at=clock.now()
        ),
        "main receives webhooks of the other mode": lambda: PaymentAccount.objects.update(ignored=2),
        "Drive ended grants: 2 in a day": lambda: counted(
            "refreshes", "drive", "dead", count=2, ago=timedelta(hours=20)
        ),
        "People wait to be deleted: 1": lambda: Erasure.objects.create(
            iss="i", sub="s", asked_at=clock.now() - timedelta(days=5)
        ),
        "Drive is switched off": lambda: Provider.objects.filter(slug="drive").update(enabled=False),
        "A vault key can be retired: k0": lambda: VaultKey.objects.create(key_id="k0", sealed="x"),
    }


@pytest.mark.parametrize("number", range(16))
def test_what_goes_wrong_is_said_and_what_is_well_is_not(admin: Client, rows: Rows, number: int) -> None:
    before = titles()
    said, happens = list(trouble(rows).items())[number]
    happens()
    assert set(titles()) - set(before) == {said}
    page = admin.get("/admin/").text
    assert said in page
    for name, url in next(one.links for one in alerts.current_alerts() if one.title == said):
        assert admin.get(url).status_code == 200, name


def notice_of(name: str) -> Alert:
    return next(one for one in alerts.current_alerts() if name in one.title)


def test_since_is_the_first_failure_after_the_last_success_whichever_process_saw_it(
    rows: Rows, moving_clock: MovingClock
) -> None:
    moving_clock.to(datetime(2026, 11, 22, 9, 10, tzinfo=UTC))
    failed("provider", "drive")
    moving_clock.to(datetime(2026, 11, 22, 10, 10, tzinfo=UTC))
    health.succeeded("provider", "drive")
    metrics_store.keep()
    for minute in (34, 40, 50):
        moving_clock.to(datetime(2026, 11, 22, 10, minute, tzinfo=UTC))
        failed("provider", "drive")
    moving_clock.to(datetime(2026, 11, 22, 13, 30, tzinfo=UTC))
    failed("provider", "drive")
    said = notice_of("Drive")
    assert (said.title, said.urgent) == ("Drive does not answer", True)
    assert "It has failed 4 times since 10:34 UTC. Last failure: 13:30 UTC. Last success: 10:10 UTC." in said.detail
    assert "Last error: provider_unavailable." in said.detail
    moving_clock.to(datetime(2026, 11, 23, 0, 30, tzinfo=UTC))
    said = notice_of("Drive")
    assert "since 2026-11-22 10:34 UTC" in said.detail
    assert not said.urgent, "nobody has tried for hours"
    health.succeeded("provider", "drive")
    failed("provider", "drive")
    health.succeeded("provider", "drive")
    metrics_store.keep()
    assert notice_of("Drive").title == "Drive answers again"


def test_a_single_failure_is_no_outage_and_every_fifth_is(rows: Rows) -> None:
    failed("provider", "drive")
    assert (notice_of("Drive").title, notice_of("Drive").urgent) == ("Drive failed", False)
    for _ in range(4):
        health.succeeded("provider", "drive")
    failed("provider", "drive")
    assert (notice_of("Drive").title, notice_of("Drive").urgent) == ("Drive does not answer", True)
    for _ in range(8):
        health.succeeded("provider", "drive")
    failed("provider", "drive")
    assert (notice_of("Drive").title, notice_of("Drive").urgent) == ("Drive does not answer", True), "3 of 15"
    for _ in range(8):
        health.succeeded("provider", "drive")
    metrics_store.keep()
    assert (notice_of("Drive").title, notice_of("Drive").urgent) == ("Drive answers again", False)


def test_who_is_hit_is_counted_and_named_nowhere(rows: Rows) -> None:
    vault.Connection.objects.update(refresh_failures=2, expires_at=clock.now() - timedelta(minutes=1))
    for sub in ("alice", "bob", "carol"):
        elicitation(rows.agent, sub)
    before = Elicitation.objects.filter(finished_at=None, params__provider="drive").count()
    failed("provider", "drive", 3)
    detail = notice_of("Drive").detail
    assert f"Affected now: 3 people, 1 agent, {before} open links, 1 expired token." in detail
    assert "alice" not in detail
    failed("payment", "main", 3)
    assert "Affected now: " in notice_of("main").detail
    failed("identity", "corp", 3)
    assert "people" in notice_of("corp").detail


@pytest.mark.parametrize(
    ("first", "later"),
    [("ok fail", "fail"), ("fail", "ok fail fail"), ("fail fail", "ok"), ("ok", "fail ok fail"), ("fail ok", "fail")],
)
def test_two_processes_come_to_what_one_would(first: str, later: str, moving_clock: MovingClock) -> None:
    def seen(*parts: str) -> list[health.HealthRecord]:
        found: list[health.HealthRecord] = []
        for part in parts:
            for what in part.split():
                moving_clock.forward(seconds=1)
                health.succeeded("job", "x") if what == "ok" else health.failed("job", "x", "e")
            found += health.drain().values()
        return found

    at = clock.now()
    one, other = seen(first, later)
    together = one.followed_by(other)
    moving_clock.to(at)
    [alone] = seen(f"{first} {later}")
    assert together.failures == alone.failures
    for field in ("ok_at", "failing_since", "failed_at"):
        mine, theirs = getattr(together, field), getattr(alone, field)
        assert bool(mine) == bool(theirs)
        assert mine is None or abs(mine - theirs) < timedelta(milliseconds=500), field


def test_a_worker_that_does_not_run_is_said_with_since_when(rows: Rows, moving_clock: MovingClock) -> None:
    moving_clock.to(datetime(2026, 11, 22, 10, 0, tzinfo=UTC))
    for name in BY_NAME:
        health.succeeded(health.JOB, name)
    metrics_store.keep()
    moving_clock.forward(minutes=2)
    assert "worker" not in " ".join(titles())
    moving_clock.forward(minutes=4)
    for name in set(BY_NAME) - {"deliver"}:
        health.succeeded(health.JOB, name)
    metrics_store.keep()
    said = notice_of("worker")
    assert (said.title, said.urgent) == ("A part of the worker has not run since 10:00 UTC", True)
    assert "Not done: sending webhooks." in said.detail
    moving_clock.forward(hours=4)
    assert notice_of("worker").title == "No worker has run since 10:00 UTC"


def test_development_settings_and_a_missing_factor_are_said(db: None, settings: Settings) -> None:
    settings.ELICIT_ALLOW_LOOPBACK = True
    assert "Development settings are on" in titles()
    settings.ELICIT_ALLOW_LOOPBACK = False
    assert "Operators need no second factor" in titles()
    settings.ELICIT_ADMIN_SECOND_FACTOR = True
    settings.SECRET_KEY_FALLBACKS = ["older"]
    assert titles() == ["An earlier SECRET_KEY is still accepted"]


def test_what_is_over_is_not_said(rows: Rows) -> None:
    failed("provider", "drive", 5)
    health.succeeded("provider", "drive")
    metrics_store.keep()
    Health.objects.update(failed_at=clock.now() - timedelta(hours=3))
    counted("refreshes", "drive", "dead", ago=timedelta(hours=30))
    row = payment(rows.agent, rows.account, status="mismatch")
    Refund.objects.create(payment=row, payment_ref="x", amount=1, by="operator", status="done")
    Provider.objects.update(enabled=False)
    failed("provider", "drive", 5)
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
    day, month = dashboard.statistics(dashboard.SPANS["24h"]), dashboard.statistics(dashboard.SPANS["30d"])
    assert dict(day.elicitations.totals)["completed"] == 9
    assert dict(month.elicitations.totals)["completed"] == 17
    assert [len(day.elicitations.rows), len(month.elicitations.rows)] == [24, 30]
    assert [(one.name, one.count, one.width) for one in day.failures] == [("Payment: payment_mismatch", 5, 100.0)]
    page = admin.get("/admin/?span=30d").text
    assert page.count("<td>8</td>") == 1
    assert "completed <strong>17</strong>" in page
    assert "script" not in page.partition('id="statistics"')[2].partition("</section>")[0]


def test_bars_stand_on_each_other_and_the_highest_fills_the_height() -> None:
    hours = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(2)]
    pieces = BarChart("x", ("a", "b"), ((hours[0], (3, 1)), (hours[1], (0, 2)))).rectangles
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
        counters.count("elicitations", "oauth", "completed", "", counters.bucket(seconds), seconds=seconds)
        metrics_store.keep()
    [one] = metrics_store.ever("elicitations").values()
    assert (one.count, one.sum) == (2, 7.0)
    assert Tally.objects.exclude(hour=EVER).get().count == 2


def test_what_cannot_be_kept_is_kept_the_next_time(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    counters.count("deliveries", "delivered", by=3)
    with monkeypatch.context() as patch:
        patch.setattr(metrics_store, "_ADD", "nonsense")
        metrics_store.keep_if_possible()
    counters.count("deliveries", "delivered")
    metrics_store.keep()
    assert metrics_store.ever("deliveries")[("delivered",)].count == 4


# Search


def found(browser: Client, wanted: str) -> str:
    return browser.post("/admin/search/", {"q": wanted}, follow=True).text


@pytest.mark.parametrize("name", ["event", "delivery", "connection", "payment", "refund"])
def test_an_id_leads_to_its_page(admin: Client, rows: Rows, name: str) -> None:
    row = getattr(rows, name)
    answer = admin.post("/admin/search/", {"q": f" {row.pk} "})
    assert answer["Location"] == f"/admin/elicit_flows/{name}/{quote(row.pk)}/change/"


def test_a_link_leads_to_its_elicitation(admin: Client, rows: Rows) -> None:
    answer = admin.post("/admin/search/", {"q": f"{rows.elicitation.url}/done"})
    assert answer["Location"] == f"/admin/request/{rows.elicitation.pk}/"


def test_a_person_is_found_by_sub_and_by_both_letter_for_letter(admin: Client, rows: Rows) -> None:
    mine, other = rows.elicitation.pk, elicitation(rows.agent, "alice2").pk
    for wanted in ("alice", f"{rows.elicitation.iss} alice"):
        page = found(admin, wanted)
        assert mine in page
        assert quote(rows.connection.pk) in page
        assert quote(rows.payment.pk) in page
        assert other not in page
    for wanted in ("Alice", "alic", "https://idp.example.com/ alice", "%", "el_nothing", ""):
        assert mine not in found(admin, wanted), wanted


def test_agents_and_providers_are_found_with_what_hangs_on_them(admin: Client, rows: Rows) -> None:
    for wanted in ("drive-bot", "Drive", "corp", "main"):
        assert "settings" in found(admin, wanted), wanted
    assert f"connection/?provider__id__exact={rows.provider.pk}" in found(admin, "drive")
    assert f"elicitation/?agent__id__exact={rows.agent.pk}" in found(admin, "drive-bot")


def test_a_slug_is_found_however_it_is_spelled(admin: Client, rows: Rows) -> None:
    """Slugs may have capitals."""
    Agent.objects.filter(pk=rows.agent.pk).update(slug="Drive-Bot")
    for wanted in ("Drive-Bot", "drive-bot"):
        assert f"elicitation/?agent__id__exact={rows.agent.pk}" in found(admin, wanted), wanted


def test_t112_who_sees_no_people_finds_none_and_nobody_is_in_an_address(admin: Client, rows: Rows) -> None:
    viewer = User.objects.create_user("vera", is_staff=True)
    viewer.groups.set([Group.objects.get(name="viewer")])
    browser = Client()
    browser.force_login(viewer)
    assert rows.elicitation.pk not in found(browser, "alice")
    assert rows.elicitation.pk not in admin.get("/admin/search/?q=alice").text
    assert vault.Connection.objects.count() == 1
