"""What is wrong with a configuration, said so that it can be put right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class Wrong(Exception):
    """A value that does not do. ``str``: what is wrong and what to do, in one line that repeats no secret."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """``line`` counts from 1."""

    line: int
    key: str
    message: str


class WrongFile(Exception):
    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(f"{len(faults)} faults")
        self.faults = sorted(faults)
