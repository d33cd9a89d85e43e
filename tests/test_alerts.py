"""deploy/alerts.yml, the runbooks and the incidents of the service say the same, by metrics that there are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import yaml
from django.conf import LazySettings
from django.test import Client

from elicit_flows import vault
from elicit_flows.job_table import BY_NAME, JOBS
from elicit_flows.jobs import incidents, lag, metrics_store, readiness
from elicit_flows.lib import clock, counters, health, http_answers
from elicit_flows.models import Checkout, Delivery, Elicitation, Erasure, Health, Payment, Refund, VaultKey
from tests.admin.rows import Rows, make
from tests.api.test_metrics import everything_counted, samples
from tests.support.moving import MovingClock
from tests.support.ports import free_port
from tests.support.process import PROJECT

FILE = PROJECT / "deploy" / "alerts.yml"
RULES: list[dict[str, Any]] = [rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]]
NAMES = [rule["alert"] for rule in RULES]
RUNBOOKS = (PROJECT / "docs" / "how-to" / "runbooks.md").read_text()
PARTS = ("**What it means.**", "**Who is hit.**", "**What to do.**", "**How to see that it is over.**")
SELECTED = re.compile(r"\b(elicit_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
AGO = timedelta(minutes=4)


@pytest.fixture
def rows(db: None) -> Rows:
    counters.drain()
    health.drain()
    Elicitation.objects.update(finished_at=clock.now())
    made = make()
    Delivery.objects.update(status="delivered")
    return made


def found() -> list[incidents.Incident]:
    return incidents.current(readiness.state())


def with_everything_counted(settings: LazySettings) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    settings.CACHES = {"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": settings.REDIS_URL}}
    http_answers.add("c/<str:elicitation_id>", "GET", 503, 0.2)
    counters.count("refreshes", "drive", "refused")
    for job in BY_NAME:
        health.succeeded(health.JOB, job)
    everything_counted()


def test_every_rule_has_what_prometheus_and_a_person_need() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 10
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert re.fullmatch(r"\d+m", rule.get("for", "1m"))
        for opening, closing in ("()", "{}", "[]"):
            assert rule["expr"].count(opening) == rule["expr"].count(closing), rule["expr"]
    if tool := shutil.which("promtool"):
        ran = subprocess.run([tool, "check", "rules", str(FILE)], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_metric_that_an_alert_or_a_page_asks_for_exists_with_its_labels(
    rows: Rows, settings: LazySettings
) -> None:
    with_everything_counted(settings)
    there = samples()
    pages = [RUNBOOKS, (PROJECT / "docs" / "how-to" / "monitor.md").read_text()]
    pages += [(PROJECT / "docs" / "tutorials" / "production.md").read_text()]
    asked = [SELECTED.findall(rule["expr"]) for rule in RULES]
    assert all(asked), "each asks for a metric of ours"
    for name, selectors in [one for many in [*asked, *map(SELECTED.findall, pages)] for one in many]:
        of_name = [sample for sample in there if sample.name == name]
        assert of_name, name
        for label, how, wanted in LABEL.findall(selectors):
            said = {sample.labels.get(label) for sample in of_name}
            assert None not in said, (name, label)
            if how in {"=", "=~"}:
                assert [one for one in said if re.fullmatch(wanted, str(one))], (name, label, wanted, said)


@pytest.mark.usefixtures("db")
def test_alerts_runbooks_and_words_follow_the_table_of_jobs() -> None:
    """Its lags are those that are measured and said; every job but one is late after the same time."""
    assert {what for job in JOBS for what in job.lag} == set(lag.oldest()) == {"delivery", *incidents._OLDEST}
    usual, purge = {job.late_after for job in JOBS if job.name != "purge"}, BY_NAME["purge"].late_after
    [seconds] = [late.total_seconds() for late in usual]
    for rule in RULES:
        if rule["alert"] in {"ElicitWorkerDead", "ElicitJobLate", "ElicitDeliveriesLate", "ElicitWorkLate"}:
            assert {float(one) for one in re.findall(r"> (\d+)", rule["expr"])} <= {seconds, purge.total_seconds()}
    for job in JOBS:
        for what in set(job.lag) - {"delivery"}:
            assert re.search(rf"^\| .*`{what}`.* \| `{job.name}` \|$", RUNBOOKS, re.MULTILINE), what


@pytest.mark.usefixtures("db")
def test_a_job_that_no_worker_was_told_to_do_is_named(moving_clock: MovingClock) -> None:
    readiness.forget()
    for _ in range(2):
        for name in set(BY_NAME) - {"refresh"}:
            health.succeeded(health.JOB, name)
        metrics_store.keep()
        said = [(one.alert, one.about) for one in found()]
        moving_clock.forward(minutes=4)
    assert said == [("ElicitJobLate", "refresh")]


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    headings = re.findall(r"^## (.+)$", RUNBOOKS, re.MULTILINE)
    assert headings == NAMES, "in the same order"
    for text in re.split(r"^## .+$", RUNBOOKS, flags=re.MULTILINE)[1:]:
        places = [text.find(part) for part in PARTS]
        assert -1 not in places, text
        assert places == sorted(places), text


def trouble(rows: Rows, settings: LazySettings) -> dict[str, Callable[[], Any]]:
    """What makes each of the incidents that the service can find by itself."""
    past = clock.now() - AGO

    def ran(ago: timedelta, *names: str) -> None:
        for name in names:
            Health.objects.create(sort=health.JOB, name=name, ok_at=clock.now() - ago)

    def answered(name: str, *labels: str, times: int = 1) -> None:
        for _ in range(times):
            counters.count(name, *labels)
        metrics_store.keep()

    def no_redis() -> None:
        settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
        settings.CACHES = {"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": settings.REDIS_URL}}

    return {
        "ElicitWorkerDead": lambda: ran(AGO, *BY_NAME),
        "ElicitJobLate": lambda: (ran(AGO, "poll"), ran(timedelta(), *(set(BY_NAME) - {"poll"}))),
        "ElicitDeliveriesLate": lambda: Delivery.objects.update(status="pending", next_at=past, lease_until=None),
        "ElicitWorkLate": lambda: Checkout.objects.update(look_at=past),
        "ElicitErrors": lambda: answered("answers", "5xx", times=10),
        "ElicitRefundsFailed": lambda: Refund.objects.update(status="failed"),
        "ElicitEvidenceDue": lambda: Payment.objects.update(
            disputed="open", evidence_due=clock.now() + timedelta(days=2)
        ),
        "ElicitRefreshesFail": lambda: answered("refreshes", "drive", "refused", times=5),
        "ElicitRedis": no_redis,
        "ElicitVaultKeyOld": lambda: VaultKey.objects.create(
            key_id=vault.ring().newest, sealed="x", created_at=clock.now() - timedelta(days=401)
        ),
    }


BY_ITSELF = (
    "ElicitWorkerDead", "ElicitJobLate", "ElicitDeliveriesLate", "ElicitWorkLate", "ElicitErrors",
    "ElicitRefundsFailed", "ElicitEvidenceDue", "ElicitRefreshesFail", "ElicitRedis", "ElicitVaultKeyOld",
)  # fmt: skip


@pytest.mark.parametrize("alert", BY_ITSELF)
def test_what_happens_is_an_incident_here_and_at_incidents_with_the_severity_of_its_alert(
    rows: Rows, settings: LazySettings, alert: str
) -> None:
    assert found() == []
    trouble(rows, settings)[alert]()
    readiness.forget()
    [one] = found()
    assert one.alert == alert
    assert one.title
    assert one.who
    assert one.what_to_do
    answer = Client().get("/incidents")
    assert answer["Content-Type"] == "application/json"
    [said] = json.loads(answer.content)["incidents"]
    [rule] = [rule for rule in RULES if rule["alert"] == alert]
    assert (said["alert"], said["severity"]) == (alert, rule["labels"]["severity"])
    page, _, heading = said["runbook"].partition("#")
    assert f"## {alert}\n" in (PROJECT / page).read_text()
    assert heading == alert.lower()
    for word in (rows.agent.slug, rows.agent.name, "alice", rows.elicitation.pk):
        assert word not in answer.text, "T115"


def test_every_alert_is_an_incident_but_that_of_a_service_that_has_stopped() -> None:
    assert set(BY_ITSELF) | {"ElicitDown", "ElicitDatabase"} == set(NAMES)


def test_whatever_is_late_has_words_of_its_own(rows: Rows) -> None:
    past = clock.now() - AGO
    Erasure.objects.create(iss="i", sub="s", asked_at=past, next_at=past)
    Elicitation.objects.update(finished_at=None, expires_at=past)
    assert {one.about for one in found()} == {"erasure", "elicitation"}
    assert {one.since for one in found()} == {past}


def test_a_few_errors_and_a_small_share_of_them_are_no_incident(rows: Rows) -> None:
    for _ in range(9):
        counters.count("answers", "5xx")
    metrics_store.keep()
    assert found() == []
    counters.count("answers", "5xx", by=91)
    counters.count("answers", "2xx", by=4900)
    metrics_store.keep()
    assert found() == []
    counters.count("answers", "5xx", by=10)
    metrics_store.keep()
    assert [one.alert for one in found()] == ["ElicitErrors"]


def test_a_refund_that_was_tried_again_is_no_incident_unless_that_failed_too(rows: Rows) -> None:
    first = rows.refund
    Refund.objects.update(status="failed")
    again = Refund.objects.create(
        payment=first.payment, payment_ref=first.payment_ref, amount=first.amount, by="operator", status="pending"
    )
    assert found() == []
    Refund.objects.filter(pk=again.pk).update(status="failed")
    assert [(one.alert, one.title) for one in found()] == [("ElicitRefundsFailed", "Refunds failed: 2")]


@pytest.mark.parametrize("due", [None, -timedelta(minutes=1), timedelta(days=3, minutes=1)])
def test_a_dispute_is_an_incident_only_while_its_deadline_is_near(rows: Rows, due: timedelta | None) -> None:
    Payment.objects.update(disputed="open", evidence_due=due and clock.now() + due)
    assert found() == []


def test_the_front_page_shows_them_first_with_since_when_and_the_runbook(
    rows: Rows, settings: LazySettings, admin_client: Client
) -> None:
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    trouble(rows, settings)["ElicitDeliveriesLate"]()
    page = admin_client.get("/admin/").text
    assert "Webhooks are not being sent" in page
    assert "1 agent waits for webhooks." in page
    assert "Runbook: ElicitDeliveriesLate." in page
