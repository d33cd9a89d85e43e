"""Reads an object that an agent sent, member by member, and collects the mistakes and their places."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form.limits import MAX_FAULTS, MAX_KEY, MAX_NUMBER, MAX_VALUE
from elicit_flows.kinds.params import Fault, fault, is_line, is_text

Path = list[str | int]


class Faults:
    """The mistakes so far: enough to correct them together, and limited, so that the answer cannot grow
    without bound.
    """

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(self, path: Path, message: str) -> None:
        if len(self.found) < MAX_FAULTS:
            self.found.append(fault([part if isinstance(part, int) else part[:MAX_KEY] for part in path], message))


class Reader:
    """One object at ``path``. A null member counts as left out, as in ACP; ``_meta`` is dropped."""

    def __init__(self, given: Any, path: Path, faults: Faults) -> None:
        self.path, self.faults = path, faults
        self.given: Json = given if isinstance(given, dict) else {}
        if not isinstance(given, dict):
            self.faults.add(path, "Give an object.")

    def only(self, names: Collection[str]) -> Json:
        """The members with these names; all others are faults."""
        there = {name: value for name, value in self.given.items() if value is not None and name != "_meta"}
        for name in there:
            if name not in names:
                self.fault(name, f"This is not supported here; use {', '.join(names)}.")
        return {name: value for name, value in there.items() if name in names}

    def fault(self, name: str | Path, message: str) -> None:
        self.faults.add([*self.path, *([name] if isinstance(name, str) else name)], message)

    def text(self, name: str, most: int) -> str:
        """A text to show; "" if it is left out."""
        value = self.given.get(name)
        if value is None or is_text(value, most):
            return value or ""
        self.fault(name, f"Give 1 to {most} characters, or leave it out.")
        return ""

    def line(self, name: str, most: int) -> str:
        """A single line, such as an id; "" if it is missing or invalid."""
        value = self.given.get(name)
        if is_line(value, most):
            return str(value)
        self.fault(name, f"Give 1 to {most} visible characters on one line.")
        return ""

    def number(self, name: str) -> float | None:
        value = self.given.get(name)
        if value is None or is_number(value):
            return value
        self.fault(name, "Give a number.")
        return None

    def count(self, name: str, most: int) -> int | None:
        """A whole number from 0 to ``most``."""
        value = self.given.get(name)
        if value is None:
            return None
        if is_number(value) and value == int(value) and 0 <= value <= most:
            return int(value)
        self.fault(name, f"Give a whole number from 0 to {most}.")
        return None

    def flag(self, name: str) -> bool:
        value = self.given.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.fault(name, "Say true or false.")
        return False

    def entries(self, name: str, most: int) -> list[Any]:
        """A list of 1 to ``most`` entries; empty if it is missing or invalid."""
        value = self.given.get(name)
        if isinstance(value, list) and 0 < len(value) <= most:
            return value
        self.fault(name, f"Give a list with 1 to {most} entries.")
        return []

    def in_order(self, low_name: str, low: float | None, high_name: str, high: float | None) -> None:
        if low is not None and high is not None and low > high:
            self.fault(high_name, f"Give at least the value of {low_name}.")

    def lines(self, name: str, most: int) -> list[str]:
        """Different values, each valid as an option's value."""
        values = self.entries(name, most)
        seen: set[str] = set()
        for place, value in enumerate(values):
            if not is_line(value, MAX_VALUE):
                self.fault([name, place], f"Give 1 to {MAX_VALUE} visible characters on one line.")
            elif value in seen:
                self.fault([name, place], "Leave it out: the list has this value already.")
            else:
                seen.add(value)
        return values if len(seen) == len(values) else []


def is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and abs(value) <= MAX_NUMBER if isinstance(value, int) else math.isfinite(value)
