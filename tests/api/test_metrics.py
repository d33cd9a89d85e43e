"""T115: what anybody may measure: true, bounded, and nobody's."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from elicit_flows import tallies
from elicit_flows.flow.moving import move
from elicit_flows.lib import tally
from elicit_flows.states import Status
from tests.admin.rows import Rows, elicitation, make
from tests.support.process import PROJECT

NAME = re.compile(r"\belicit_\w+")
PROVIDER_WORDS = {"begin", "return", "refresh", "revoke", "sign_in"}


@pytest.fixture
def rows(db: None) -> Rows:
    tally.take()
    return make()


def everything_counted() -> None:
    for provider in ("drive", "corp"):
        tally.count("refreshes", provider, "refreshed", by=3)
        tally.count("provider_errors", provider, "refresh")
    for outcome in ("delivered", "tried", "failed"):
        tally.count("deliveries", outcome, by=2)
    for seconds in (4.0, 7.0, 4000.0):
        tally.count("elicitations", "oauth", "completed", "", tally.bucket(seconds), seconds=seconds)
    tally.count("elicitations", "payment", "failed", "payment_mismatch", "60", seconds=50.0)
    tallies.keep()


def samples() -> list[Sample]:
    text = Client().get("/metrics").text
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def value(name: str, **labels: str) -> float:
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
    assert [*tally.take()] == [("elicitations", ("oauth", "declined", "", "5"))]
    row = elicitation(rows.agent)
    with transaction.atomic():
        move(row, Status.DECLINED)
        transaction.set_rollback(True)
    assert tally.take() == {}


def test_openmetrics_is_spoken_to_who_asks_for_it(rows: Rows) -> None:
    everything_counted()
    answer = Client().get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert len(list(openmetrics.text_string_to_metric_families(answer.text))) >= 9


def test_t115_labels_are_words_of_ours_and_slugs_of_providers(rows: Rows) -> None:
    everything_counted()
    allowed = {
        "kind": {"oauth", "payment", "credentials", "form", "confirm", "link", "steps"},
        "outcome": {"completed", "failed", "delivered", "tried", "refreshed"}, "status": {"pending", "failed"},
        "reason": {"payment_mismatch"}, "provider": {"drive", "corp"}, "step": PROVIDER_WORDS,
    }  # fmt: skip
    for sample in samples():
        for label, said in sample.labels.items():
            assert label == "le" or said in allowed[label], sample
    text = Client().get("/metrics").text
    for word in (rows.agent.slug, rows.elicitation.pk, "alice", rows.payment.pk, rows.event.pk):
        assert word not in text


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
