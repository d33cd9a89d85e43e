"""Numbers of the process that answers: they are there while the database is away."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, HistogramMetricFamily, Metric

from elicit_flows.jobs import readiness
from elicit_flows.lib import counters, http_answers


def collect(state: readiness.State) -> Iterator[Metric]:
    ready = GaugeMetricFamily(
        "elicit_ready", "Whether what this process depends on is well, as /readyz has it.", labels=["of"]
    )
    for of, well in sorted(state.well().items()):
        ready.add_metric([of], float(well))
    yield ready
    yield GaugeMetricFamily(
        "elicit_database_seconds", "How long the last look at the database took.", value=state.seconds
    )
    histogram = HistogramMetricFamily(
        "elicit_http_seconds", "How long answers took, and how many there were.", labels=["route", "method", "status"]
    )
    for labels, one in http_answers.all_answered():
        total, buckets = 0, []
        for bound, count in zip((*map(str, http_answers.BOUNDS), "+Inf"), one.buckets, strict=True):
            total += count
            buckets.append((bound, float(total)))
        histogram.add_metric(labels, buckets, sum_value=one.seconds)
    yield histogram
    threads = GaugeMetricFamily("elicit_pool_threads", "Threads of each pool.", labels=["pool"])
    requests = GaugeMetricFamily(
        "elicit_pool_requests", "Requests that run in the threads of a pool, or wait for one.", labels=["pool", "state"]
    )
    for name, load in sorted(counters.pools.items()):
        there, running, waiting = load()
        threads.add_metric([name], there)
        requests.add_metric([name, "running"], running)
        requests.add_metric([name, "waiting"], waiting)
    yield threads
    yield requests
    waiters = counters.gauges.get("waiters", int)()
    yield GaugeMetricFamily("elicit_waiters", "Requests that wait in this process.", value=waiters)
