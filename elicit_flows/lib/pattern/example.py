"""A short text that matches a pattern, for people who do not read patterns."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from elicit_flows.lib.pattern.automaton import Pattern
from elicit_flows.lib.pattern.charset import CharSet
from elicit_flows.lib.pattern.parsing import Chars, Either, Gap, Node, Row, parse

MOST = 60  # characters; a longer example does not help
_WAYS = ("ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnpqrstuvwxyz", "1234567890", "-_.:/ @+#")


@lru_cache(maxsize=256)
def example(source: str) -> str:
    """For example ``AB-1234`` for ``^[A-Z]{2}-[0-9]{4}$``; "" if none is found easily. Raises PatternError."""
    written: list[str] = []
    found = "".join(written) if _write(parse(source), written) else ""
    return found if found.strip() and Pattern(source).search(found) else ""


def _write(node: Node, written: list[str]) -> bool:
    """Whether an example could be written that is not too long."""
    if isinstance(node, Gap):
        return True
    if isinstance(node, Chars):
        written.append(_char(node.chars, len(written)))
        return bool(written[-1]) and len(written) <= MOST
    if isinstance(node, Row):
        return all(_write(part, written) for part in node.parts)
    if isinstance(node, Either):
        return _write(node.parts[0], written)
    times = max(node.low, 0 if node.high == 0 else 1)
    return all(_write(node.part, written) for _ in range(times))


def _char(chars: CharSet, place: int) -> str:
    """A different letter at each position, so that it reads like an example."""
    for way in _WAYS:
        fit = [char for char in way if _holds(chars, char)]
        if fit:
            return fit[place % len(fit)]
    low = chars.ranges[0][0] if chars.ranges and not chars.negated else 0
    return chr(low) if low > 32 else ""


def _holds(chars: CharSet, char: str) -> bool:
    ranged = any(low <= ord(char) <= high for low, high in chars.ranges)
    return (ranged or unicodedata.category(char) in chars.categories) != chars.negated
