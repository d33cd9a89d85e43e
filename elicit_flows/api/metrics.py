"""Metrics for Prometheus. They need no authentication, so they contain no ids: labels are our own words, and the slugs
of the operator's providers.

Counters are the sums of all processes, from the database. What process_metrics.py has is of the process that answers.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator

from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.utils.translation import override
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from elicit_flows import vault
from elicit_flows.api import process_metrics
from elicit_flows.job_table import BY_NAME, PURGE
from elicit_flows.jobs import incidents, lag, metrics_store, readiness
from elicit_flows.lib import clock, counters
from elicit_flows.models import Delivery, Elicitation, PaymentAccount, VaultKey
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.payments import disputes, refunds


@require_GET
def show(request: HttpRequest) -> HttpResponse:
    content, content_type = page(request.headers.get("Accept", ""))
    return HttpResponse(content, content_type=content_type)


@require_GET
def show_incidents(request: HttpRequest) -> HttpResponse:
    return HttpResponse(incidents_page(), content_type="application/json")


def page(accept: str) -> tuple[bytes, str]:
    """As Prometheus asks for it: its text format, or OpenMetrics."""
    encode, content_type = choose_encoder(accept)
    return encode(_REGISTRY), content_type


def incidents_page() -> bytes:
    """What is wrong now, for pagers: the same as the alerts and the operators' front page."""
    # In English, as all that programs read, whatever language the caller's browser asks for.
    with override("en"):
        found = [one.as_json() for one in incidents.current(readiness.state())]
    return json.dumps({"at": clock.now().isoformat(), "incidents": found}).encode()


class MetricsCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        state = readiness.state()
        yield from process_metrics.collect(state)
        if state.database in {readiness.AWAY, readiness.FULL_UP}:
            return
        yield from _gauges()
        yield from _elicitations()
        yield _counter(
            "deliveries", "elicit_delivery_tries", "Tries to deliver a webhook; failed: given up.", "outcome"
        )
        yield _counter("refreshes", "elicit_refreshes", "Token refreshes, however they ended.", "provider", "outcome")
        yield _counter(
            "notifications", "elicit_notifications", "Messages to people, however they ended.", "channel", "outcome"
        )
        yield _counter(
            "provider_errors", "elicit_provider_errors", "Times that a provider failed us.", "provider", "step"
        )


_REGISTRY = CollectorRegistry(auto_describe=False)
_REGISTRY.register(MetricsCollector())


def _gauges() -> Iterator[Metric]:
    # Each is counted in an index that has these alone: what is over is not read.
    waiting = Elicitation.objects.filter(UNFINISHED)
    count = waiting.count() - waiting.filter(parent__isnull=False).count()
    yield GaugeMetricFamily("elicit_open_elicitations", "Elicitations that are not over.", value=count)
    deliveries = GaugeMetricFamily(
        "elicit_deliveries", "Webhook deliveries that are not done, by status.", labels=["status"]
    )
    for status in ("pending", "failed"):
        deliveries.add_metric([status], Delivery.objects.filter(status=status).count())
    yield deliveries
    # The label is not called job: Prometheus has one of that name, and would rename this one.
    ran = GaugeMetricFamily(
        "elicit_job_last_run_timestamp_seconds", "When a worker last ran the job, 0 for never.", labels=["name"]
    )
    ran_at = readiness.last_runs()
    for name in BY_NAME:
        if name in ran_at or name != PURGE.name:  # beat wakes that one an hour after its start
            ran.add_metric([name], ran_at[name].timestamp() if name in ran_at else 0.0)
    yield ran
    oldest = GaugeMetricFamily(
        "elicit_oldest_due_seconds",
        "For how long the oldest thing has been due that a worker should do.",
        labels=["what"],
    )
    for what, since in lag.oldest().items():
        oldest.add_metric([what], max(0.0, (clock.now() - since).total_seconds()) if since else 0.0)
    yield oldest
    key = VaultKey.objects.filter(pk=vault.ring().newest).first()
    age = (clock.now() - key.created_at).total_seconds() if key else 0.0
    yield GaugeMetricFamily("elicit_vault_key_age_seconds", "How long the vault's newest key has been used.", value=age)
    yield GaugeMetricFamily(
        "elicit_refunds_failed", "Refunds that failed and were not asked for again.", value=refunds.given_up().count()
    )
    first = disputes.waiting_for_evidence().values_list("evidence_due", flat=True).first()
    yield GaugeMetricFamily(
        "elicit_evidence_due_seconds",
        "How long until the first deadline for evidence in a dispute, +Inf without one.",
        value=(first - clock.now()).total_seconds() if first else math.inf,
    )
    ignored = PaymentAccount.objects.aggregate(sum=Sum("ignored"))["sum"] or 0
    yield CounterMetricFamily(
        "elicit_webhooks_ignored", "Payment providers' webhooks of the other mode (livemode).", value=ignored
    )


def _elicitations() -> Iterator[Metric]:
    """Three metrics from one count: how elicitations ended, why they failed, and how long completed ones took."""
    outcomes: Counter[tuple[str, ...]] = Counter()
    failures: Counter[tuple[str, ...]] = Counter()
    took: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: Counter[str] = Counter()
    for (kind, status, reason, bucket), one in metrics_store.ever("elicitations").items():
        outcomes[kind, status] += one.count
        if status == "failed":
            failures[kind, reason] += one.count
        if status == "completed":
            took[kind][bucket] += one.count
            seconds[kind] += one.sum  # type: ignore[assignment]
    yield _family("elicit_elicitations", "Elicitations that ended.", ("kind", "outcome"), outcomes)
    yield _family("elicit_failures", "Elicitations that failed, by reason.", ("kind", "reason"), failures)
    histogram = HistogramMetricFamily("elicit_completion_seconds", "From the ask to completion.", labels=["kind"])
    for kind, counts in sorted(took.items()):
        # The buckets of a histogram, each with the counts of all lower ones.
        total, found = 0, []
        for bound in counters.BOUNDS:
            total += counts[f"{bound:g}"]
            found.append((str(bound), float(total)))
        histogram.add_metric(
            [kind], [*found, ("+Inf", float(total + counts[counters.FOREVER]))], sum_value=seconds[kind]
        )
    yield histogram


def _counter(name: str, metric: str, help_text: str, *labels: str) -> Metric:
    return _family(metric, help_text, labels, {key: one.count for key, one in metrics_store.ever(name).items()})


def _family(metric: str, help_text: str, labels: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> Metric:
    family = CounterMetricFamily(metric, help_text, labels=labels)
    for values, count in sorted(counts.items()):
        family.add_metric(values, count)
    return family
