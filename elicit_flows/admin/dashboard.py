"""The first page of the admin: alerts, a search box, and statistics with charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elicit_flows.admin import alerts
from elicit_flows.jobs import metrics_store
from elicit_flows.lib import clock, counters
from elicit_flows.lib.counters import Counted
from elicit_flows.models import Elicitation

Labels = tuple[str, ...]
ByHour = dict[datetime, dict[Labels, Counted]]

# The charts are drawn here as numbers for an SVG, so that the page needs no script.
WIDTH, HEIGHT = 640, 120  # of a chart, in units of the SVG
GAP = 0.25  # between two bars, as a part of the space of a bar
MAX_SHARES = 12
STEPS = {
    "begin": gettext_lazy("sending people there"),
    "return": gettext_lazy("when people come back"),
    "refresh": gettext_lazy("refreshing a token"),
    "revoke": gettext_lazy("revoking a grant"),
    "sign_in": gettext_lazy("signing people in"),
}


@dataclass(frozen=True, slots=True)
class Span:
    """``count`` intervals of length ``step``. The last one is not over yet."""

    name: str
    count: int
    step: timedelta

    def starts(self) -> list[datetime]:
        now = clock.now().replace(minute=0, second=0, microsecond=0)
        last = now if self.step < timedelta(days=1) else now.replace(hour=0)
        return [last - self.step * back for back in reversed(range(self.count))]


SPANS = {"24h": Span("24h", 24, timedelta(hours=1)), "30d": Span("30d", 30, timedelta(days=1))}


@dataclass(frozen=True, slots=True)
class Rectangle:
    """One part of one bar. ``series`` is the number that the style sheet colours."""

    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class BarChart:
    """``names`` of the series, and ``rows``: the start of each interval and the count of each series in it."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[datetime, tuple[int, ...]], ...]

    @property
    def totals(self) -> list[tuple[str, int]]:
        sums = [sum(values) for values in zip(*(values for _, values in self.rows), strict=True)]
        return list(zip(self.names, sums, strict=True))

    @property
    def empty(self) -> bool:
        return not any(total for _, total in self.totals)

    @property
    def most(self) -> int:
        return max((sum(values) for _, values in self.rows), default=0)

    @property
    def rectangles(self) -> list[Rectangle]:
        """From left to right, and in each bar from the bottom up; the last series is at the bottom."""
        step = WIDTH / len(self.rows)
        rectangles = []
        for place, (_start, values) in enumerate(self.rows):
            top = float(HEIGHT)
            for series in reversed(range(len(values))):
                height = HEIGHT * values[series] / (self.most or 1)
                if height:
                    top -= height
                    x, width = round(step * (place + GAP / 2), 2), round(step * (1 - GAP), 2)
                    rectangles.append(Rectangle(x, round(top, 2), width, round(height, 2), series))
        return rectangles


@dataclass(frozen=True, slots=True)
class Share:
    """One line of a ranking. The most frequent one has the width 100."""

    name: str
    count: int
    width: float


@dataclass(frozen=True, slots=True)
class CompletionTime:
    """How long people took to complete elicitations of one kind, in seconds."""

    kind: str
    count: int
    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Statistics:
    elicitations: BarChart
    deliveries: BarChart
    refreshes: BarChart
    failures: list[Share]
    provider_errors: list[Share]
    times: list[CompletionTime]

    @property
    def charts(self) -> list[BarChart]:
        return [self.elicitations, self.deliveries, self.refreshes]


def context(request: HttpRequest) -> dict[str, Any]:
    """The variables of the page's template."""
    span = SPANS.get(request.GET.get("span", ""), SPANS["24h"])
    return {
        "page": "overview",
        "alerts": alerts.current_alerts(),
        "statistics": statistics(span),
        "span": span.name,
        "spans": list(SPANS),
    }


def statistics(span: Span) -> Statistics:
    starts = span.starts()
    elicitations, deliveries, refreshes, errors = (
        metrics_store.since(name, starts[0]) for name in ("elicitations", "deliveries", "refreshes", "provider_errors")
    )
    return Statistics(
        elicitations=_bar_chart(
            _("Elicitations that ended"), starts, elicitations, 1,
            {_("completed"): {"completed"}, _("failed"): {"failed"},
             _("declined, cancelled or expired"): {"declined", "cancelled", "expired"}},
        ),
        deliveries=_bar_chart(
            _("Webhook deliveries"), starts, deliveries, 0,
            {_("delivered"): {"delivered"}, _("failed tries"): {"tried"}, _("given up"): {"failed"}},
        ),
        refreshes=_bar_chart(
            _("Token refreshes"), starts, refreshes, 1,
            {_("refreshed"): {"refreshed"}, _("failed, tried again"): {"unavailable", "refused"},
             _("grant had ended"): {"dead"}},
        ),
        failures=_ranking(
            elicitations,
            lambda kind, status, reason, _bound: f"{_kind(kind)}: {reason}" if status == "failed" else "",
        ),
        provider_errors=_ranking(errors, lambda slug, step: f"{slug}, {STEPS.get(step, step)}"),
        times=_completion_times(elicitations),
    )  # fmt: skip


def _kind(kind: str) -> str:
    """A kind in words. The counters may have one that is no more."""
    return str(dict(Elicitation.Kind.choices).get(kind, kind))


def _bar_chart(
    title: str, starts: list[datetime], counted: ByHour, label: int, series: dict[str, set[str]]
) -> BarChart:
    """A chart of what was counted by hour. ``series``: the values of the label number ``label``, by name."""
    counts = {start: [0] * len(series) for start in starts}
    for hour, by_labels in counted.items():
        start = max(start for start in starts if start <= hour)
        for labels, value in by_labels.items():
            for number, values in enumerate(series.values()):
                counts[start][number] += value.count if labels[label] in values else 0
    return BarChart(title, tuple(series), tuple((start, tuple(values)) for start, values in counts.items()))


def _ranking(counted: ByHour, name: Callable[..., str]) -> list[Share]:
    """The most frequent names. ``name`` makes a name of the labels, or "" for what is left out."""
    counts: Counter[str] = Counter()
    for by_labels in counted.values():
        for labels, value in by_labels.items():
            counts[name(*labels)] += value.count
    ranked = sorted(
        ((key, count) for key, count in counts.items() if key and count), key=lambda pair: (-pair[1], pair[0])
    )
    return [Share(key, count, round(100 * count / ranked[0][1], 1)) for key, count in ranked[:MAX_SHARES]]


def _completion_times(counted: ByHour) -> list[CompletionTime]:
    completed: dict[str, Counter[float]] = {}
    for by_labels in counted.values():
        for (kind, status, _reason, bound), value in by_labels.items():
            if status == "completed":
                completed.setdefault(kind, Counter())[float(bound)] += value.count
    times = []
    for kind, counts in sorted(completed.items()):
        buckets = [(bound, counts[bound]) for bound in (*counters.BOUNDS, float("inf"))]
        times.append(CompletionTime(_kind(kind), counts.total(), quantile(0.5, buckets), quantile(0.9, buckets)))
    return times


def quantile(wanted: float, buckets: Sequence[tuple[float, int]]) -> float | None:
    """The value below which the part ``wanted`` of the values lies, estimated like Prometheus' ``histogram_quantile``.

    ``buckets``: rising upper bounds, and the count in each bucket. In an infinite bucket the answer is its lower bound.
    """
    target = wanted * sum(count for _, count in buckets)
    below, lower = 0, 0.0
    for upper, count in buckets:
        if count and below + count >= target:
            return lower if upper == float("inf") else lower + (upper - lower) * (target - below) / count
        below, lower = below + count, upper
    return None
