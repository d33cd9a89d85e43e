"""Counts over time as bars: drawn here, as numbers for an SVG, so that the page needs no script and no style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH, HEIGHT = 640, 120  # of the drawing, in its own units
GAP = 0.25  # of a bar's place


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of one bar; ``series`` is its number, which the style sheet colours."""

    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class Bars:
    """``rows``: when, and how many of each of the ``names``; ``totals`` of each over the whole time."""

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
    def pieces(self) -> list[Piece]:
        """The last series at the bottom of its bar."""
        return [piece for place, (_, values) in enumerate(self.rows) for piece in self._bar(place, values)]

    def _bar(self, place: int, values: Sequence[int]) -> Iterable[Piece]:
        step, top = WIDTH / len(self.rows), float(HEIGHT)
        for series in reversed(range(len(values))):
            height = HEIGHT * values[series] / (self.most or 1)
            if height:
                top -= height
                yield Piece(round(step * (place + GAP / 2), 2), round(top, 2), round(step * (1 - GAP), 2),
                            round(height, 2), series)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """One line of a list of how many of each, the longest bar 100."""

    name: str
    count: int
    width: float


def shares(counts: dict[str, int], most: int = 12) -> list[Share]:
    """The ``most`` frequent, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most]
    return [Share(name, count, round(100 * count / ranked[0][1], 1)) for name, count in ranked if count]


def quantile(wanted: float, buckets: Sequence[tuple[float, int]]) -> float | None:
    """The value below which the part ``wanted`` lies, as Prometheus' ``histogram_quantile`` estimates it.

    ``buckets``: upper bounds, rising, and how many are in each. In an infinite one the answer is its lower bound.
    """
    target = wanted * sum(count for _, count in buckets)
    below, lower = 0, 0.0
    for upper, count in buckets:
        if count and below + count >= target:
            return lower if upper == float("inf") else lower + (upper - lower) * (target - below) / count
        below, lower = below + count, upper
    return None
