"""On which line of a TOML file a key stands, which tomllib does not tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_NAME = r"""["']?(?P<name>[A-Za-z0-9_-]+)["']?"""
_HEADER = re.compile(rf"\s*\[\[?\s*{_NAME}\s*\]")
_PART = re.compile(rf"\s*\[\[?\s*[\"']?(?P<of>[A-Za-z0-9_-]+)[\"']?\s*\.\s*{_NAME}")
_KEY = re.compile(rf"\s*{_NAME}\s*=")
_LONG = ('"""', "'''")


class Lines:
    """Good for files as people write them: a header or key at the beginning of its line."""

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[str, int, str], int] = {}
        seen: Counter[str] = Counter()
        place = ("", 0)
        for number, line in _outside_long_strings(text):
            if header := _HEADER.match(line):
                name = header["name"]
                place = (name, seen[name])
                seen[name] += 1
                self._found.setdefault((*place, ""), number)
            elif (part := _PART.match(line)) and part["of"] == place[0].partition(".")[0]:
                whole = (part["of"], place[1])
                self._found.setdefault((*whole, part["name"]), number)
                place = (f"{part['of']}.", place[1])  # whose keys are none of the table's own
            elif key := _KEY.match(line):
                self._found.setdefault((*place, key["name"]), number)

    def of(self, table: str, number: int, key: str = "") -> int:
        """The line of ``key`` in the table of that name with that number, from 0; else where the table begins."""
        found = self._found
        return found.get((table, number, key)) or found.get((table, number, "")) or found.get(("", 0, table)) or 1


def _outside_long_strings(text: str) -> Iterator[tuple[int, str]]:
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if inside:
            inside = "" if inside in line else inside
            continue
        yield number, line
        inside = next((mark for mark in _LONG if line.count(mark) % 2), "")
