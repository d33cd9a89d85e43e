"""Measuring two things by turns, so that whatever else the machine does happens to both."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from bench.findings import number

Sample = Mapping[str, float]


class Rounds:
    """What each side measured, round by round."""

    def __init__(self, samples: dict[str, list[Sample]]) -> None:
        self.samples = samples

    def values(self, side: str, metric: str) -> list[float]:
        return [sample[metric] for sample in self.samples[side]]

    def median(self, side: str, metric: str) -> float:
        return statistics.median(self.values(side, metric))

    def ratio(self, metric: str, over: str, under: str) -> float:
        """The median of the rounds' ratios."""
        pairs = zip(self.values(over, metric), self.values(under, metric), strict=True)
        return statistics.median(a / b if b else math.inf for a, b in pairs)

    def span(self, side: str, metric: str, unit: str = "") -> str:
        """Median, least and most, as a reader wants to see them."""
        found = self.values(side, metric)
        least, most = number(min(found)), number(max(found))
        return f"{number(self.median(side, metric))} ({least}–{most}) {unit}".rstrip()


def interleaved(rounds: int, **sides: Callable[[], Sample]) -> Rounds:
    """Every side once a round; who goes first changes from round to round."""
    samples: dict[str, list[Sample]] = {name: [] for name in sides}
    for turn in range(rounds):
        names = list(sides) if turn % 2 == 0 else list(reversed(sides))
        for name in names:
            samples[name].append(sides[name]())
    return Rounds(samples)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that ``share`` of all do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0
