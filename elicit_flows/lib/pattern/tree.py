"""A pattern as a tree, and how big it is when its repetitions are written out."""

from __future__ import annotations

from dataclasses import dataclass

from elicit_flows.lib.pattern.charset import CharSet


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Gap:
    """Nothing, at a place: ``kind`` is ``^``, ``$``, ``b`` or ``B``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``low`` to ``high`` times; ``high`` is None for any number."""

    part: Node
    low: int
    high: int | None


Node = Chars | Gap | Row | Either | Repeat


def size(node: Node) -> int:
    """How many nodes it has with each repetition written out; what ``automaton`` has to do grows with it."""
    if isinstance(node, Row | Either):
        return 1 + sum(map(size, node.parts))
    if isinstance(node, Repeat):
        return 1 + size(node.part) * max(node.low + (node.high is None), node.high or 0, 1)
    return 1
