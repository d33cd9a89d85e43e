"""Numbers for Prometheus. No auth, and so no ids: labels are words of ours and the slugs of the operator's providers.

Counters are those of all processes, added up in the database; ``elicit_waiters`` is of the process that answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from elicit_flows import tallies
from elicit_flows.lib import tally
from elicit_flows.models import Delivery, Elicitation, PaymentAccount
from elicit_flows.models.elicitation import UNFINISHED


@require_GET
def show(request: HttpRequest) -> HttpResponse:
    """As Prometheus asks for it: its text format, or OpenMetrics."""
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(_REGISTRY), content_type=content_type)


class Numbers(Collector):
    def collect(self) -> Iterator[Metric]:
        yield from _gauges()
        yield from _elicitations()
        yield _counter(
            "deliveries", "elicit_delivery_tries", "Tries to deliver a webhook; failed: given up.", "outcome"
        )
        yield _counter("refreshes", "elicit_refreshes", "Token refreshes, however they ended.", "provider", "outcome")
        yield _counter(
            "provider_errors", "elicit_provider_errors", "Times that a provider failed us.", "provider", "step"
        )


_REGISTRY = CollectorRegistry(auto_describe=False)
_REGISTRY.register(Numbers())


def _gauges() -> Iterator[Metric]:
    count = Elicitation.objects.filter(UNFINISHED, parent=None).count()
    yield GaugeMetricFamily("elicit_open_elicitations", "Elicitations that are not over.", value=count)
    deliveries = GaugeMetricFamily(
        "elicit_deliveries", "Webhook deliveries that are not done, by status.", labels=["status"]
    )
    for status in ("pending", "failed"):
        deliveries.add_metric([status], Delivery.objects.filter(status=status).count())
    yield deliveries
    waiters = tally.gauges.get("waiters", int)()
    yield GaugeMetricFamily("elicit_waiters", "Requests that wait in this process.", value=waiters)
    ignored = PaymentAccount.objects.aggregate(sum=Sum("ignored"))["sum"] or 0
    yield CounterMetricFamily(
        "elicit_webhooks_ignored", "Payment providers' webhooks of the other mode (livemode).", value=ignored
    )


def _elicitations() -> Iterator[Metric]:
    """Three views of one count: how they ended, why they failed, how long a completed one took."""
    outcomes: Counter[tuple[str, ...]] = Counter()
    failures: Counter[tuple[str, ...]] = Counter()
    took: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: Counter[str] = Counter()
    for (kind, status, reason, bucket), one in tallies.ever("elicitations").items():
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
        histogram.add_metric([kind], _cumulative(counts), sum_value=seconds[kind])
    yield histogram


def _cumulative(counts: Counter[str]) -> list[tuple[str, float]]:
    """As a histogram has it: each bucket counts those below it too."""
    total, found = 0, []
    for bound in tally.BOUNDS:
        total += counts[f"{bound:g}"]
        found.append((str(bound), float(total)))
    return [*found, ("+Inf", float(total + counts[tally.FOREVER]))]


def _counter(name: str, metric: str, help_text: str, *labels: str) -> Metric:
    return _family(metric, help_text, labels, {key: one.count for key, one in tallies.ever(name).items()})


def _family(metric: str, help_text: str, labels: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> Metric:
    family = CounterMetricFamily(metric, help_text, labels=labels)
    for values, count in sorted(counts.items()):
        family.add_metric(values, count)
    return family
