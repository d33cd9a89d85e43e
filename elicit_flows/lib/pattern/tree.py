"""A pattern as a tree, and its size with repetitions written out."""

from __future__ import annotations

from dataclasses import dataclass

from elicit_flows.lib.pattern.charset import CharSet


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Gap:
    """Matches the empty string at a place: ``kind`` is ``^``, ``$``, ``b`` or ``B``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """A sequence."""

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
    """The number of nodes with each repetition written out. The work of ``automaton`` grows with it."""
    if isinstance(node, Row | Either):
        return 1 + sum(map(size, node.parts))
    if isinstance(node, Repeat):
        return 1 + size(node.part) * max(node.low + (node.high is None), node.high or 0, 1)
    return 1
