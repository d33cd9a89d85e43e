"""A pattern as a tree, and its parser (ECMA-262, section 22.2.1, with the ``u`` flag; more tolerant about escapes)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from elicit_flows.lib.pattern import charset
from elicit_flows.lib.pattern.charset import CLASSES, DOT, LAST, CharSet

MAX_PATTERN = 300  # characters
MAX_SIZE = 400  # nodes, repetitions written out
MAX_DEPTH = 20  # groups in groups

_COUNT = re.compile(r"\{([0-9]{1,4})(,?)([0-9]{0,4})\}")
_PROPERTY = re.compile(r"\{(?:General_Category=|gc=)?([A-Za-z]{1,2})\}")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_GROUP = re.compile(r"\((?:\?:|\?<[A-Za-z_$][A-Za-z0-9_$]*>|(?!\?))")
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")


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


class PatternError(ValueError):
    """The pattern cannot be used. The message is a sentence that says why."""


def parse(source: str) -> Node:
    """The tree of the pattern. Raises PatternError."""
    if len(source) > MAX_PATTERN:
        raise PatternError(f"Give a pattern of at most {MAX_PATTERN} characters.")
    reader = _Reader(source)
    node = reader.either()
    if reader.at < len(source):
        raise PatternError(f"A ) at position {reader.at} closes nothing.")
    if size(node) > MAX_SIZE:
        raise PatternError("This pattern is too big with its repetitions written out; use smaller counts.")
    return node


class _Reader:
    def __init__(self, source: str) -> None:
        self.source, self.at, self.depth = source, 0, 0

    def _next(self) -> str:
        return self.source[self.at : self.at + 1]

    def _take(self) -> str:
        char = self._next()
        self.at += 1
        return char

    def _match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self.source, self.at)
        self.at = found.end() if found else self.at
        return found

    def either(self) -> Node:
        parts = [self._row()]
        while self._next() == "|":
            self.at += 1
            parts.append(self._row())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _row(self) -> Node:
        parts: list[Node] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _repeated(self, node: Node) -> Node:
        if self._next() not in ("*", "+", "?", "{"):
            return node
        if isinstance(node, Gap):
            raise PatternError(f"There is nothing to repeat at position {self.at}.")
        low, high = self._count()
        if self._next() == "?":  # lazy: this changes which match is found, not whether there is one
            self.at += 1
        if self._next() in ("*", "+", "?", "{"):
            raise PatternError(f"There is nothing to repeat at position {self.at}.")
        return Repeat(node, low, high)

    def _count(self) -> tuple[int, int | None]:
        counted = self._match(_COUNT)
        if counted is None:
            sign = self._take()
            if sign == "{":
                raise PatternError(f"Write the {{ at position {self.at - 1} as \\{{, or count as in {{1,3}}.")
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        low = int(counted[1])
        high = int(counted[3]) if counted[3] else (None if counted[2] else low)
        if high is not None and high < low:
            raise PatternError(f"In {counted[0]} the first number is greater than the second.")
        return low, high

    def _atom(self) -> Node:
        char = self._next()
        if char == "(":
            if self.source.startswith(_LOOKS, self.at):
                raise PatternError(
                    "Lookahead and lookbehind are not supported, because they can make a match very slow."
                )
            if not self._match(_GROUP):
                raise PatternError(f"The kind of group at position {self.at} is not supported.")
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise PatternError(f"Groups may be nested at most {MAX_DEPTH} deep.")
            node = self.either()
            if self._take() != ")":
                raise PatternError("A ( is not closed.")
            self.depth -= 1
            return Row((node,))
        if char == "\\":
            return self._escape()
        if char in "*+?{}]":
            raise PatternError(f"Write the {char} at position {self.at} as \\{char}.")
        self.at += 1
        if char in "^$":
            return Gap(char)
        if char == "[":
            return Chars(self._class())
        return Chars(DOT if char == "." else charset.one(ord(char)))

    def _escape(self) -> Node:
        after = self.source[self.at + 1 : self.at + 2]
        if after in ("b", "B"):
            self.at += 2
            return Gap(after)
        if after == "k" or (after.isdigit() and after != "0"):
            raise PatternError("Backreferences are not supported, because they can make a match very slow.")
        return Chars(self._escaped())

    def _escaped(self) -> CharSet:
        """The characters that an escape stands for, inside or outside of a class."""
        start = self.at
        self.at += 1
        if coded := self._match(_HEX):
            return charset.one(min(int(coded[1] or coded[2] or coded[3], 16), LAST))
        char = self._take()
        if char in CLASSES:
            return CLASSES[char]
        if char in _CONTROLS:
            return charset.one(_CONTROLS[char])
        if char in ("p", "P") and (named := self._match(_PROPERTY)):
            found = charset.category(named[1], negated=char == "P")
            if found:
                return found
        if not char or char.isalnum() or not char.isascii():
            raise PatternError(f"The escape at position {start} is not supported.")
        return charset.one(ord(char))

    def _class(self) -> CharSet:
        negated = self._next() == "^"
        self.at += negated
        found = CharSet()
        while self._next() != "]":
            if not self._next():
                raise PatternError("A [ is not closed.")
            found |= self._range()
        self.at += 1
        return CharSet(found.ranges, found.categories, negated)

    def _range(self) -> CharSet:
        low = self._member()
        if self._next() != "-" or self.source[self.at + 1 : self.at + 2] in ("", "]"):
            return low
        self.at += 1
        high = self._member()
        if not (_is_one(low) and _is_one(high)) or low.ranges[0][0] > high.ranges[0][0]:
            raise PatternError(
                f"The range that ends at position {self.at - 1} is not in order; write a literal - as \\-."
            )
        return CharSet(((low.ranges[0][0], high.ranges[0][0]),))

    def _member(self) -> CharSet:
        if self._next() != "\\":
            return charset.one(ord(self._take()))
        if self.source.startswith("\\b", self.at):
            self.at += 2
            return charset.one(8)
        return self._escaped()


def _is_one(chars: CharSet) -> bool:
    return len(chars.ranges) == 1 and chars.ranges[0][0] == chars.ranges[0][1] and not chars.categories
