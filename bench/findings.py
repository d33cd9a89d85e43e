"""What was found, and whether it is what was aimed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Sign = Literal["≥", "≤", "="]
_HOLDS: dict[Sign, Callable[[float, float], bool]] = {
    "≥": lambda value, aim: value >= aim,
    "≤": lambda value, aim: value <= aim,
    "=": lambda value, aim: value == aim,
}


class LeftOut(Exception):
    """The row cannot be measured here; says what is missing."""


@dataclass(frozen=True)
class Goal:
    sign: Sign
    aim: float

    def met(self, value: float) -> bool:
        return _HOLDS[self.sign](value, self.aim)


@dataclass(frozen=True)
class Finding:
    """``value`` in ``unit`` ("" is a ratio); ``beside`` are the absolute numbers and whatever else explains it."""

    what: str
    value: float
    unit: str = ""
    goal: Goal | None = None
    beside: str = ""

    @property
    def measured(self) -> str:
        return f"{number(self.value)} {self.unit}".rstrip()

    @property
    def aimed(self) -> str:
        return f"{self.goal.sign} {number(self.goal.aim)} {self.unit}".rstrip() if self.goal else ""

    @property
    def verdict(self) -> str:
        return ("met" if self.goal.met(self.value) else "MISSED") if self.goal else ""


def number(value: float) -> str:
    """Three figures, thousands with a comma."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
