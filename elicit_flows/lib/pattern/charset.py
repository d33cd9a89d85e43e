"""Sets of characters, for the classes and escapes of a pattern."""

from __future__ import annotations

import sys
from dataclasses import dataclass

LAST = sys.maxunicode
# Unicode's own names
_CATEGORIES = "Cc Cf Cn Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs"
CATEGORIES = tuple(_CATEGORIES.split())

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CharSet:
    """The characters in ``ranges`` (both ends included) or ``categories``; all others if ``negated``."""

    ranges: Ranges = ()
    categories: frozenset[str] = frozenset()
    negated: bool = False

    def __or__(self, other: CharSet) -> CharSet:
        """The union; neither may be negated."""
        return CharSet(self.ranges + other.ranges, self.categories | other.categories)


def one(code: int) -> CharSet:
    return CharSet(((code, code),))


def complement(ranges: Ranges) -> Ranges:
    """Everything outside of ``ranges``, which must be sorted and must not overlap."""
    gaps, start = [], 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    return (*gaps, (start, LAST)) if start <= LAST else tuple(gaps)


_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
# ECMA-262, WhiteSpace and LineTerminator
_SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip

DOT = CharSet(complement(_LINE_ENDS))
CLASSES = {
    "d": CharSet(_DIGIT), "D": CharSet(complement(_DIGIT)),
    "w": CharSet(_WORD), "W": CharSet(complement(_WORD)),
    "s": CharSet(_SPACE), "S": CharSet(complement(_SPACE)),
}  # fmt: skip


def is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def category(name: str, *, negated: bool) -> CharSet | None:
    r"""``\p{name}`` or ``\P{name}`` for a general category or a family of them ("L", "Lu"); None for another name."""
    found = {one for one in CATEGORIES if one == name or one[0] == name}
    if not found:
        return None
    return CharSet(categories=frozenset(set(CATEGORIES) - found if negated else found))
