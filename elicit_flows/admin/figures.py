"""How the service did, over a day by the hour or over thirty days by the day: read from what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elicit_flows import tallies
from elicit_flows.admin.charts import Bars, Share, quantile, shares
from elicit_flows.lib import clock, tally
from elicit_flows.lib.tally import Counted

Labels = tuple[str, ...]
ByHour = dict[datetime, dict[Labels, Counted]]


@dataclass(frozen=True, slots=True)
class Span:
    """``count`` steps of ``step`` each, the last of which is under way."""

    name: str
    count: int
    step: timedelta

    def starts(self) -> list[datetime]:
        now = clock.now().replace(minute=0, second=0, microsecond=0)
        last = now if self.step < timedelta(days=1) else now.replace(hour=0)
        return [last - self.step * back for back in reversed(range(self.count))]


SPANS = {"24h": Span("24h", 24, timedelta(hours=1)), "30d": Span("30d", 30, timedelta(days=1))}


@dataclass(frozen=True, slots=True)
class Time:
    """How long people took to complete one kind, in seconds."""

    kind: str
    count: int
    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    over: Bars
    deliveries: Bars
    refreshes: Bars
    failures: list[Share]
    troubles: list[Share]
    times: list[Time]

    @property
    def bars(self) -> list[Bars]:
        return [self.over, self.deliveries, self.refreshes]


def of(span: Span) -> Figures:
    starts = span.starts()
    over, deliveries, refreshes, errors = (
        tallies.since(name, starts[0]) for name in ("elicitations", "deliveries", "refreshes", "provider_errors")
    )
    return Figures(
        over=_bars(
            _("Elicitations that ended"), starts, over,
            {_("completed"): _is(1, "completed"), _("failed"): _is(1, "failed"),
             _("declined, cancelled or expired"): _is(1, "declined", "cancelled", "expired")},
        ),
        deliveries=_bars(
            _("Webhook deliveries"), starts, deliveries,
            {_("delivered"): _is(0, "delivered"), _("tries that failed"): _is(0, "tried"),
             _("given up"): _is(0, "failed")},
        ),
        refreshes=_bars(
            _("Token refreshes"), starts, refreshes,
            {_("refreshed"): _is(1, "refreshed"), _("failed, and tried again"): _is(1, "unavailable", "refused"),
             _("grant was dead"): _is(1, "dead")},
        ),
        failures=shares(_by(over, _failure)),
        troubles=shares(_by(errors, _trouble)),
        times=_times(over),
    )  # fmt: skip


STEPS = {
    "begin": gettext_lazy("on the way there"),
    "return": gettext_lazy("on the way back"),
    "refresh": gettext_lazy("refreshing a token"),
    "revoke": gettext_lazy("ending a grant"),
    "sign_in": gettext_lazy("signing people in"),
}


def _failure(labels: Labels) -> str | None:
    kind, status, reason, _bound = labels
    return f"{kind}: {reason}" if status == "failed" else None


def _trouble(labels: Labels) -> str | None:
    slug, step = labels
    return f"{slug}, {STEPS.get(step, step)}"


def _is(place: int, *wanted: str) -> Callable[[Labels], bool]:
    return lambda labels: labels[place] in wanted


def _bars(title: str, starts: list[datetime], found: ByHour, series: dict[str, Callable[[Labels], bool]]) -> Bars:
    counts = {start: [0] * len(series) for start in starts}
    for hour, by_labels in found.items():
        start = max(one for one in starts if one <= hour)
        for labels, one in by_labels.items():
            for number, belongs in enumerate(series.values()):
                counts[start][number] += one.count if belongs(labels) else 0
    return Bars(title, tuple(series), tuple((start, tuple(values)) for start, values in counts.items()))


def _by(found: ByHour, name: Callable[[Labels], str | None]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for by_labels in found.values():
        for labels, one in by_labels.items():
            said = name(labels)
            if said:
                counts[said] += one.count
    return counts


def _times(found: ByHour) -> list[Time]:
    completed: dict[str, Counter[float]] = {}
    for by_labels in found.values():
        for (kind, status, _reason, bound), one in by_labels.items():
            if status == "completed":
                completed.setdefault(kind, Counter())[float(bound)] += one.count
    return [_time(kind, counts) for kind, counts in sorted(completed.items())]


def _time(kind: str, counts: Counter[float]) -> Time:
    buckets = [(bound, counts[bound]) for bound in (*tally.BOUNDS, float("inf"))]
    return Time(kind, counts.total(), quantile(0.5, buckets), quantile(0.9, buckets))
