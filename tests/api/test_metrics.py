"""T115: the metrics are correct, limited in number, and contain nothing about a person or an agent."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.db import transaction
from django.test import Client
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pytest_django import DjangoDbBlocker

from elicit_flows import vault
from elicit_flows.domain.status import Status
from elicit_flows.elicitations.transitions import move
from elicit_flows.job_table import BY_NAME
from elicit_flows.jobs import lag, metrics_store
from elicit_flows.lib import clock, counters, health, http_answers
from elicit_flows.lib.thread_pools import ThreadPool
from elicit_flows.models import Checkout, Delivery, Elicitation, Erasure, Refund, VaultKey
from tests.admin.rows import Rows, elicitation, make
from tests.support.in_process import default_database
from tests.support.moving import MovingClock
from tests.support.ports import free_port
from tests.support.process import PROJECT
from tests.support.rows import question
from tests.support.serving import Served

NAME = re.compile(r"\belicit_\w+")
POOLS = ("agents", "agents-outside", "health", "pages", "pages-outside", "reads")
PROVIDER_WORDS = {"begin", "return", "refresh", "revoke", "sign_in"}


@pytest.fixture
def rows(db: None) -> Rows:
    counters.drain()
    health.drain()
    return make()


def everything_counted() -> None:
    for provider in ("drive", "corp"):
        counters.count("refreshes", provider, "refreshed", by=3)
        counters.count("provider_errors", provider, "refresh")
    for outcome in ("delivered", "tried", "failed"):
        counters.count("deliveries", outcome, by=2)
    for seconds in (4.0, 7.0, 4000.0):
        counters.count("elicitations", "oauth", "completed", "", counters.bucket(seconds), seconds=seconds)
    counters.count("elicitations", "payment", "failed", "payment_mismatch", "60", seconds=50.0)
    health.succeeded(health.JOB, "deliver")
    health.failed("provider", "drive", "provider_unavailable")
    http_answers.add("c/<str:elicitation_id>", "GET", 200, 0.2)
    counters.pools["pages"] = lambda: (4, 1, 0)
    metrics_store.keep()


def samples() -> list[Sample]:
    text = Client().get("/metrics").text
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def value(name: str, /, **labels: str) -> float:
    [found] = [one.value for one in samples() if one.name == name and one.labels == labels]
    return found


def test_what_every_process_counted_is_there(rows: Rows) -> None:
    everything_counted()
    everything_counted()  # as another process would
    assert value("elicit_refreshes_total", provider="drive", outcome="refreshed") == 6
    assert value("elicit_provider_errors_total", provider="corp", step="refresh") == 2
    assert value("elicit_delivery_tries_total", outcome="failed") == 4
    assert value("elicit_elicitations_total", kind="oauth", outcome="completed") == 6
    assert value("elicit_failures_total", kind="payment", reason="payment_mismatch") == 2
    assert value("elicit_waiters") >= 0


def test_the_histogram_is_one(rows: Rows) -> None:
    everything_counted()
    buckets = [one for one in samples() if one.name == "elicit_completion_seconds_bucket"]
    counts = [(float(one.labels["le"]), one.value) for one in buckets]
    assert counts == sorted(counts), "each counts those below it too"
    assert counts[0] == (5.0, 1)
    assert counts[1] == (15.0, 2)
    assert counts[-2:] == [(3600.0, 2), (float("inf"), 3)]
    assert value("elicit_completion_seconds_count", kind="oauth") == 3
    assert value("elicit_completion_seconds_sum", kind="oauth") == 4011


def test_an_elicitation_is_counted_as_it_ends_and_not_when_that_is_taken_back(
    rows: Rows, django_capture_on_commit_callbacks: Any
) -> None:
    row = elicitation(rows.agent)
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        move(row, Status.DECLINED)
    assert [*counters.drain()] == [("elicitations", ("oauth", "declined", "", "5"))]
    row = elicitation(rows.agent)
    with transaction.atomic():
        move(row, Status.DECLINED)
        transaction.set_rollback(True)
    assert counters.drain() == {}


def test_a_worker_that_does_nothing_is_seen(rows: Rows, moving_clock: MovingClock) -> None:
    """By the time when it last ran, and by the age of the oldest work that it should have done."""
    Delivery.objects.update(status="delivered")
    Elicitation.objects.update(finished_at=clock.now())
    for what in lag.oldest():
        assert value("elicit_oldest_due_seconds", what=what) == 0
    everything_counted()
    assert abs(value("elicit_job_last_run_timestamp_seconds", name="deliver") - clock.now().timestamp()) < 10
    elicitation(rows.agent)
    Delivery.objects.update(status="pending", next_at=clock.now(), lease_until=None)
    vault.Connection.objects.update(refresh_due_at=clock.now(), status="active")
    moving_clock.forward(hours=2)
    assert 7200 <= value("elicit_oldest_due_seconds", what="delivery") < 7300
    assert 7200 <= value("elicit_oldest_due_seconds", what="refresh") < 7300
    assert 3600 <= value("elicit_oldest_due_seconds", what="elicitation") < 3700
    assert clock.now().timestamp() - value("elicit_job_last_run_timestamp_seconds", name="deliver") > 7100


def test_what_nobody_asks_about_payments_revocations_and_erasures_is_seen(
    rows: Rows, moving_clock: MovingClock
) -> None:
    Elicitation.objects.update(finished_at=clock.now())
    past = clock.now() - timedelta(hours=1)
    for what, is_due in (
        ("payment", lambda: Checkout.objects.update(look_at=past)),
        ("revocation", lambda: vault.Connection.objects.update(upstream="pending", upstream_next_at=past)),
        ("erasure", lambda: Erasure.objects.create(iss="i", sub="s", asked_at=past, next_at=past)),
    ):
        assert value("elicit_oldest_due_seconds", what=what) == 0
        is_due()
        assert 3600 <= value("elicit_oldest_due_seconds", what=what) < 3700
    Checkout.objects.update(look_at=None)
    Refund.objects.update(try_at=past - timedelta(hours=1))
    assert value("elicit_oldest_due_seconds", what="payment") >= 7200


def test_openmetrics_is_spoken_to_who_asks_for_it(rows: Rows) -> None:
    everything_counted()
    answer = Client().get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert len(list(openmetrics.text_string_to_metric_families(answer.text))) >= 9


def test_t115_labels_are_words_of_ours_and_slugs_of_providers(rows: Rows) -> None:
    everything_counted()
    allowed = {
        "kind": {"oauth", "payment", "credentials", "form", "confirm", "link", "x402", "steps"},
        "outcome": {"completed", "failed", "delivered", "tried", "refreshed"}, "status": {"pending", "failed", "2xx"},
        "reason": {"payment_mismatch"}, "provider": {"drive", "corp"}, "step": PROVIDER_WORDS,
        "name": set(BY_NAME), "route": {"/c/<str:elicitation_id>"}, "method": {"GET"}, "pool": {*POOLS},
        "state": {"running", "waiting"}, "of": {"database", "schema", "redis", "worker"}, "what": set(lag.oldest()),
    }  # fmt: skip
    for sample in samples():
        for label, said in sample.labels.items():
            assert label == "le" or said in allowed[label], sample
    text = Client().get("/metrics").text
    for word in (rows.agent.slug, rows.elicitation.pk, "alice", rows.payment.pk, rows.event.pk):
        assert word not in text


def test_no_label_has_a_name_that_prometheus_gives_itself(rows: Rows) -> None:
    """Prometheus would rename our label to exported_job, and no alert would find it."""
    everything_counted()
    assert not {label for sample in samples() for label in sample.labels} & {"job", "instance"}


def test_what_a_process_knows_of_itself_it_says_while_the_database_is_away(django_db_blocker: DjangoDbBlocker) -> None:
    http_answers.add("", "GET", 200, 0.01)
    with default_database(f"postgres://nobody@127.0.0.1:{free_port()}/nothing", django_db_blocker):
        there = samples()
    assert {one.name for one in there} >= {"elicit_ready", "elicit_http_seconds_count", "elicit_waiters"}
    assert [one.value for one in there if one.name == "elicit_ready"] == [0], "of the database; more is not known"


def test_answers_are_counted_by_route_method_and_class_of_status(served: Served, api: httpx2.Client) -> None:
    """A client cannot invent any of them."""
    http_answers.forget()
    counters.drain()
    asked = api.post("/v1/elicitations", json=question()).json()["id"]
    for path in (f"/v1/elicitations/{asked}?wait=0", f"/v1/elicitations/{asked}", "/static/none.css", "/canary/x", "/"):
        api.get(path)
    api.get("/canary/" + "x" * 300)
    api.request("PROPFIND", "/account")
    api.get("/admin/elicit_flows/agent/canary/change/")
    api.get("/livez")
    found = {key: sum(one.buckets) for key, one in http_answers.all_answered()}
    elicitation = "/v1/elicitations/<elicitation_id>"
    assert found == {
        ("/v1/elicitations", "POST", "2xx"): 1, ("waits", "GET", "2xx"): 1, (elicitation, "GET", "2xx"): 1,
        ("/static/", "GET", "4xx"): 1, ("none", "GET", "4xx"): 2, ("/", "GET", "2xx"): 1, ("/livez", "GET", "2xx"): 1,
        ("/account", "other", "4xx"): 1, ("/admin/", "GET", "3xx"): 1,
    }  # fmt: skip
    kept = {key[1]: one.count for key, one in counters.drain().items() if key[0] == "answers"}
    assert kept == {("2xx",): 4, ("3xx",): 1, ("4xx",): 4}, "but for health checks"


def test_the_histogram_of_answers_is_one(rows: Rows) -> None:
    for seconds in (0.01, 0.2, 30.0):
        http_answers.add("account", "GET", 200, seconds)
    labels = {"route": "/account", "method": "GET", "status": "2xx"}
    assert value("elicit_http_seconds_bucket", le="0.025", **labels) == 1
    assert value("elicit_http_seconds_bucket", le="0.25", **labels) == 2
    assert value("elicit_http_seconds_bucket", le="10.0", **labels) == 2
    assert value("elicit_http_seconds_count", **labels) == 3
    assert value("elicit_http_seconds_sum", **labels) == pytest.approx(30.21)


def test_threads_that_are_busy_and_requests_that_wait_for_one_are_told(served: Served) -> None:
    """Asked in the process itself, as its own port for metrics would be."""
    go_on = threading.Event()

    async def three_for_two() -> None:
        pool = ThreadPool("test", threads=2, share=2, outside=False)
        counters.pools["test"] = pool.load
        calls = [asyncio.ensure_future(pool.run("one", go_on.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        assert pool.load() == (2, 2, 1)
        go_on.set()
        await asyncio.gather(*calls)
        assert pool.load() == (2, 0, 0)

    asyncio.run(three_for_two())
    assert value("elicit_pool_threads", pool="test") == 2
    assert value("elicit_pool_requests", pool="test", state="running") == 0
    del counters.pools["test"]
    assert set(counters.pools) == set(POOLS)


def test_the_age_of_the_vaults_key_is_told(rows: Rows) -> None:
    VaultKey.objects.create(key_id=vault.ring().newest, sealed="x", created_at=clock.now() - timedelta(days=401))
    assert value("elicit_vault_key_age_seconds") >= 401 * 24 * 3600


def test_every_metric_that_the_dashboard_asks_for_exists(rows: Rows) -> None:
    everything_counted()
    dashboard = json.loads((PROJECT / "deploy" / "grafana.json").read_text())
    asked = {name for panel in dashboard["panels"] for one in panel["targets"] for name in NAME.findall(one["expr"])}
    there = {sample.name for sample in samples()}
    assert asked <= there
    assert len(asked) >= 9
    unseen = {name for name in there - asked if not name.endswith(("_sum", "_count", "_bucket"))}
    assert unseen == set(), "every one has its place on the dashboard"
    for panel in dashboard["panels"]:
        for one in panel["targets"]:
            for labels in re.findall(r"by \(([^)]*)\)", one["expr"]):
                name = NAME.findall(one["expr"])[0]
                has = {label for sample in samples() if sample.name == name for label in sample.labels}
                assert set(labels.split(", ")) <= has, one["expr"]
