"""The Glushkov automaton of a pattern. Its positions are the bits of a number, which each character advances.

Whether ``^ $ \\b \\B`` match depends only on the gap between two characters. So there is one automaton for each kind of
gap, in which they match the empty string or nothing.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from elicit_flows.lib.pattern.charset import CharSet, is_word
from elicit_flows.lib.pattern.parsing import Chars, Either, Gap, Node, Repeat, Row, parse

Where = tuple[bool, bool, bool]  # at the start, at the end, at a word boundary


class Pattern:
    """A compiled pattern. Raises PatternError for one that cannot be used."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._tree = parse(source)
        self._places: dict[Where, _Place] = {}
        sets: list[CharSet] = []
        _collect(self._tree, sets)
        self._alphabet = _Alphabet(sets)

    def search(self, text: str) -> bool:
        """Whether it matches anywhere in ``text``. Takes time linear in the length of ``text``."""
        active = 0
        for index, char in enumerate(f"{text}\0"):
            before = index > 0 and is_word(text[index - 1])
            after = index < len(text) and is_word(text[index])
            where = (index == 0, index == len(text), before != after)
            if where not in self._places:
                self._places[where] = _Place.build(self._tree, where)
            place = self._places[where]
            if place.nullable or active & place.last:
                return True
            if index == len(text):
                return False
            active = (place.following(active) | place.first) & self._alphabet.holding(char)
        return False


def _collect(node: Node, into: list[CharSet]) -> None:
    """The character set of each position, in the order in which ``_Builder`` counts them."""
    if isinstance(node, Chars):
        into.append(node.chars)
    elif isinstance(node, Row | Either):
        for part in node.parts:
            _collect(part, into)
    elif isinstance(node, Repeat):
        for _ in range(_copies(node)):
            _collect(node.part, into)


def _copies(node: Repeat) -> int:
    return max(node.low, 1) if node.high is None else node.high


class _Alphabet:
    """The positions that accept a character: one look-up in a table of intervals, one in a table of categories."""

    def __init__(self, sets: list[CharSet]) -> None:
        self._negated = 0
        self._categories: dict[str, int] = {}
        edges: dict[int, int] = {0: 0}
        for position, chars in enumerate(sets):
            bit = 1 << position
            self._negated |= bit if chars.negated else 0
            for name in chars.categories:
                self._categories[name] = self._categories.get(name, 0) | bit
            for edge in _edges(chars):
                edges[edge] = edges.get(edge, 0) ^ bit
        self._starts = sorted(edges)
        self._masks: list[int] = []
        mask = 0
        for start in self._starts:
            mask ^= edges[start]
            self._masks.append(mask)

    def holding(self, char: str) -> int:
        mask = self._masks[bisect_right(self._starts, ord(char)) - 1]
        if self._categories:
            mask |= self._categories.get(unicodedata.category(char), 0)
        return mask ^ self._negated


def _edges(chars: CharSet) -> list[int]:
    """The code points at which membership changes. Overlapping ranges are merged."""
    edges: list[int] = []
    end = -1
    for low, high in sorted(chars.ranges):
        if low > end + 1 or end < 0:
            edges += [low, high + 1]
        elif high > end:
            edges[-1] = high + 1
        end = max(end, high)
    return edges


@dataclass(slots=True)
class _Ends:
    """For a part of the pattern: whether it can be empty, and its first and last positions."""

    nullable: bool
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class _Place:
    """The automaton for one kind of gap: a match can begin at ``first`` positions, and is complete at ``last`` ones."""

    nullable: bool
    first: int
    last: int
    follow: list[int]
    _tables: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def build(cls, tree: Node, where: Where) -> _Place:
        builder = _Builder(where)
        ends = builder.ends(tree)
        return cls(ends.nullable, ends.first, ends.last, builder.follow)

    def following(self, active: int) -> int:
        """The positions that can follow any of ``active``, looked up eight at a time to save work."""
        found = 0
        for number, byte in enumerate(active.to_bytes((active.bit_length() + 7) // 8, "little")):
            if byte:
                key = (number, byte)
                if key not in self._tables:
                    follow = self.follow[number * 8 :]
                    self._tables[key] = reduce(or_, (follow[bit] for bit in range(8) if byte >> bit & 1))
                found |= self._tables[key]
        return found


class _Builder:
    def __init__(self, where: Where) -> None:
        start, end, edge = where
        self.holds = {"^": start, "$": end, "b": edge, "B": not edge}
        self.follow: list[int] = []

    def ends(self, node: Node) -> _Ends:
        if isinstance(node, Chars):
            self.follow.append(0)
            bit = 1 << (len(self.follow) - 1)
            return _Ends(nullable=False, first=bit, last=bit)
        if isinstance(node, Gap):
            return _Ends(nullable=self.holds[node.kind])
        if isinstance(node, Repeat):
            parts = [self.ends(node.part) for _ in range(_copies(node))]
            if node.high is None:
                self._link(parts[-1].last, parts[-1].first)
            for part in parts[node.low :]:
                part.nullable = True
            return self._row(parts)
        parts = [self.ends(part) for part in node.parts]
        if isinstance(node, Row):
            return self._row(parts)
        either = _Ends(nullable=False)
        for part in parts:
            either.nullable = either.nullable or part.nullable
            either.first |= part.first
            either.last |= part.last
        return either

    def _row(self, parts: list[_Ends]) -> _Ends:
        row = _Ends(nullable=True)
        for part in parts:
            self._link(row.last, part.first)
            row.first |= part.first if row.nullable else 0
            row.last = part.last | (row.last if part.nullable else 0)
            row.nullable = row.nullable and part.nullable
        return row

    def _link(self, last: int, first: int) -> None:
        while last:
            low = last & -last
            self.follow[low.bit_length() - 1] |= first
            last ^= low
