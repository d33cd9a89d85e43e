"""One defence over many inputs: ``make test`` tries one input of each kind, ``make test-all`` every one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pytest


def sweep(values: Iterable[Any], kind: Callable[[Any], Hashable]) -> list[Any]:
    """For ``parametrize``: of the values of one ``kind`` all but the first are slow. A tuple has several arguments."""
    seen: set[Hashable] = set()
    found = []
    for value in values:
        found.append(_parameter(value, slow=kind(value) in seen))
        seen.add(kind(value))
    return found


def spread(values: Sequence[Any], quick: int = 4) -> list[Any]:
    """The same where no kinds are known: all but ``quick`` of them, evenly over the list with both ends, are slow."""
    kept = {round(step * (len(values) - 1) / (quick - 1)) for step in range(quick)}
    return [_parameter(value, slow=place not in kept) for place, value in enumerate(values)]


def pairs(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """Each of ``first`` with each of ``second``: of those that are not slow each value is in one at least."""
    shorter = min(len(first), len(second))
    return [
        _parameter((one, other), slow=place % shorter != at % shorter)
        for place, one in enumerate(first)
        for at, other in enumerate(second)
    ]


def _parameter(value: Any, *, slow: bool) -> Any:
    given = value if isinstance(value, tuple) else (value,)
    return pytest.param(*given, marks=[pytest.mark.slow] if slow else [])
