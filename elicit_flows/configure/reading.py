"""From the text of a file to its tables, every value read; everything that is wrong is said at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from elicit_flows.configure.faults import Fault, Wrong, WrongFile
from elicit_flows.configure.lines import Lines
from elicit_flows.configure.sorts import fields_of, filled_in, sort_of
from elicit_flows.configure.tables import TABLES, Key

_PLACE = re.compile(r" \((?:at line (\d+), column \d+|at end of document)\)$")


@dataclass(frozen=True, slots=True)
class Entry:
    """One table. ``values`` holds every key, with its default where the table leaves it out, and the ``sort`` of a
    provider; ``given`` names the keys that the table has, ``wrong`` those that it does not have as they were meant.
    """

    table: str
    number: int
    values: dict[str, Any]
    given: frozenset[str]
    wrong: frozenset[str]

    @property
    def slug(self) -> str:
        return str(self.values["slug"] or "")


@dataclass(frozen=True, slots=True)
class Tables:
    """``faults``: what single values and names have shown so far."""

    entries: list[Entry]
    faults: list[Fault]
    lines: Lines

    def of(self, table: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.table == table]

    def fault(self, entry: Entry, key: str, message: str) -> Fault:
        return Fault(self.lines.of(entry.table, entry.number, key), key, message)


def read(raw: bytes) -> Tables:
    """Raises WrongFile when it is no TOML; other faults are collected, for ``check`` to add to."""
    text = _decoded(raw)
    document = _parsed(text)
    lines = Lines(text)
    faults: list[Fault] = []
    entries: list[Entry] = []
    for name, value in document.items():
        if name not in TABLES:
            faults.append(Fault(lines.of(name, 0), name, f"there is no such table; use {', '.join(TABLES)}"))
        elif not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            faults.append(Fault(lines.of(name, 0), name, f"write each one under its own [[{name}]]"))
        else:
            entries += [_entry(name, number, item, lines, faults) for number, item in enumerate(value)]
    return Tables(entries, faults, lines)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise WrongFile([Fault(line, "toml", "the file must be text in UTF-8")]) from None


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        raise WrongFile([Fault(line, "toml", f"this is not TOML: {_PLACE.sub('', str(error))}")]) from None


def _entry(table: str, number: int, item: dict[str, Any], lines: Lines, faults: list[Fault]) -> Entry:
    keys = TABLES[table]
    values = {name: key.default for name, key in keys.items()}
    wrong = dict(_wrong_names(keys, item))
    for name in item.keys() & keys.keys():
        try:
            values[name] = keys[name].read(item[name])
        except Wrong as error:
            wrong[name] = str(error)
    if table == "provider":
        if values["preset"] and "sort" in item:
            wrong.setdefault("sort", "is for the preset to say; leave it out")
        values |= {"sort": sort_of(values["sort"], values["preset"], item), "given": None}
        try:
            values |= filled_in(values, item)
        except Wrong as error:
            wrong.setdefault("variables", str(error))
        values["fields"] = fields_of(values)
    faults += [Fault(lines.of(table, number, name), name, message) for name, message in wrong.items()]
    return Entry(table, number, values, frozenset(item), frozenset(wrong))


def _wrong_names(keys: Mapping[str, Key], item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in item:
        if name not in keys:
            yield name, f"there is no such key here; use {', '.join(keys)}"
    for name, key in keys.items():
        if key.required and name not in item:
            yield name, "is missing here; add it"
