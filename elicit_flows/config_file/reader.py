"""Parses a configuration file: its tables, the line of each key, and what is wrong with single values."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from elicit_flows.config_file.providers import fields_or_default, preset_values, provider_type
from elicit_flows.config_file.schema import SINGLE, TABLES
from elicit_flows.config_file.values import Fault, InvalidFile, InvalidValue

_NAME = r"""["']?(?P<name>[A-Za-z0-9_-]+)["']?"""
_TABLE = re.compile(rf"\s*\[\[?\s*{_NAME}\s*\]")
_SUBTABLE = re.compile(rf"\s*\[\[?\s*[\"']?(?P<of>[A-Za-z0-9_-]+)[\"']?\s*\.\s*{_NAME}")
_KEY = re.compile(rf"\s*{_NAME}\s*=")
_MULTILINE_QUOTES = ('"""', "'''")
_POSITION = re.compile(r" \((?:at line (\d+), column \d+|at end of document)\)$")


class KeyLines:
    """The line of each key in a TOML file, which ``tomllib`` does not report.

    It finds tables and keys that stand at the beginning of their line, as people write them.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, int, str], int] = {}
        seen: Counter[str] = Counter()
        place = ("", 0)
        for number, line in _outside_multiline_strings(text):
            if header := _TABLE.match(line):
                name = header["name"]
                place = (name, seen[name])
                seen[name] += 1
                self._lines.setdefault((*place, ""), number)
            elif (part := _SUBTABLE.match(line)) and part["of"] == place[0].partition(".")[0]:
                # [provider.verify] is the key "verify" of the table above it.
                self._lines.setdefault((part["of"], place[1], part["name"]), number)
                # The dot keeps the keys of the subtable apart from those of the table.
                place = (f"{part['of']}.", place[1])
            elif key := _KEY.match(line):
                self._lines.setdefault((*place, key["name"]), number)

    def of(self, table: str, number: int, key: str = "") -> int:
        """The line of ``key`` in the table of that name with that number, from 0; else where the table begins."""
        lines = self._lines
        return lines.get((table, number, key)) or lines.get((table, number, "")) or lines.get(("", 0, table)) or 1


def _outside_multiline_strings(text: str) -> Iterator[tuple[int, str]]:
    quotes = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        yield number, line
        quotes = next((mark for mark in _MULTILINE_QUOTES if line.count(mark) % 2), "")


@dataclass(frozen=True, slots=True)
class Entry:
    """One table of the file.

    ``values`` has every key, with its default where the table leaves it out, and the type of a provider under "sort".
    ``given`` names the keys that the file has, ``wrong`` those whose value was not accepted.
    """

    table: str
    number: int
    values: dict[str, Any]
    given: frozenset[str]
    wrong: frozenset[str]

    @property
    def slug(self) -> str:
        return str(self.values.get("slug") or "")


@dataclass(frozen=True, slots=True)
class Tables:
    """A parsed file. ``faults``: what is wrong with single names and values."""

    entries: list[Entry]
    faults: list[Fault]
    lines: KeyLines

    def of(self, table: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.table == table]

    def fault(self, entry: Entry, key: str, message: str) -> Fault:
        return Fault(self.lines.of(entry.table, entry.number, key), key, message)


def read(raw: bytes) -> Tables:
    """Raises InvalidFile when it is not TOML. Other faults are collected, and ``check`` adds to them."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidFile([Fault(line, "toml", "the file must be text in UTF-8")]) from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = _POSITION.search(str(error))
        line = int(position[1]) if position and position[1] else text.count("\n") + 1
        raise InvalidFile([Fault(line, "toml", f"this is not TOML: {_POSITION.sub('', str(error))}")]) from None
    lines = KeyLines(text)
    faults: list[Fault] = []
    entries: list[Entry] = []
    for name, value in document.items():
        if name not in TABLES:
            faults.append(Fault(lines.of(name, 0), name, f"there is no such table; use {', '.join(TABLES)}"))
        elif name in SINGLE:
            if isinstance(value, dict):
                entries.append(_entry(name, 0, value, lines, faults))
            else:
                faults.append(Fault(lines.of(name, 0), name, f"write it once, under [{name}]"))
        elif not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            faults.append(Fault(lines.of(name, 0), name, f"write each one under its own [[{name}]]"))
        else:
            entries += [_entry(name, number, item, lines, faults) for number, item in enumerate(value)]
    return Tables(entries, faults, lines)


def _entry(table: str, number: int, item: dict[str, Any], lines: KeyLines, faults: list[Fault]) -> Entry:
    keys = TABLES[table]
    values = {name: key.default for name, key in keys.items()}
    wrong = {name: f"there is no such key here; use {', '.join(keys)}" for name in item if name not in keys}
    wrong |= {name: "is missing here; add it" for name, key in keys.items() if key.required and name not in item}
    for name in item.keys() & keys.keys():
        try:
            values[name] = keys[name].rule(item[name])
        except InvalidValue as error:
            wrong[name] = str(error)
    if table == "provider":
        if values["preset"] and "sort" in item:
            wrong.setdefault("sort", "is decided by the preset; leave it out")
        values |= {"sort": provider_type(values["sort"], values["preset"], item), "given": None}
        try:
            values |= preset_values(values, item)
        except InvalidValue as error:
            wrong.setdefault("variables", str(error))
        values["fields"] = fields_or_default(values)
    faults += [Fault(lines.of(table, number, name), name, message) for name, message in wrong.items()]
    return Entry(table, number, values, frozenset(item), frozenset(wrong))
