"""The tables beside this file: for every threat at least one edit that takes its defence out.

An edit says where it is made. ``in`` names a function or a class: ``"KeyRing.open"``, or ``"seal.open_stash"`` where
the name alone stands for several. It names a whole module where the edit is outside of all functions. ``file`` names
what is not Python. So the tables stay right where code is moved.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TABLES = sorted(Path(__file__).parent.glob("*.toml"))
CODE = ("elicit_flows", "config", "sandbox")


@dataclass(frozen=True)
class Place:
    """A function, class or module: the lines of ``file`` from ``first`` to ``last``, counted from 0, last excluded."""

    file: str
    name: str
    first: int
    last: int


@cache
def _places() -> dict[str, list[Place]]:
    """Every function, class and module, under each ending of its full name."""
    found: dict[str, list[Place]] = defaultdict(list)
    for path in sorted(path for folder in CODE for path in (ROOT / folder).rglob("*.py")):
        for place in _of_file(path):
            parts = place.name.split(".")
            for start in range(len(parts)):
                found[".".join(parts[start:])].append(place)
    return found


def _of_file(path: Path) -> Iterator[Place]:
    text = path.read_text()
    file = str(path.relative_to(ROOT))
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    yield Place(file, module, 0, text.count("\n") + 1)
    waiting: list[tuple[str, ast.AST]] = [(module, ast.parse(text))]
    while waiting:
        within, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{within}.{child.name}"
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                yield Place(file, name, first - 1, child.end_lineno or child.lineno)
                waiting.append((name, child))
            else:
                waiting.append((within, child))


@dataclass(frozen=True)
class Edit:
    """``old`` stands once in the function, class, module or file that ``where`` names, and becomes ``new``."""

    where: str
    old: str
    new: str

    def _place(self) -> Place | str:
        """Where it is; or what is wrong with the name."""
        if (ROOT / self.where).is_file():
            return Place(self.where, self.where, 0, (ROOT / self.where).read_text().count("\n") + 1)
        places = _places().get(self.where, [])
        if len(places) != 1:
            return (
                f"{len(places)} functions, classes or modules are called {self.where}: {[one.name for one in places]}"
            )
        return places[0]

    def span(self) -> tuple[str, int, int]:
        """The file, and from which to which character ``old`` stands in it. Raises ValueError where it does not."""
        place = self._place()
        if isinstance(place, str):
            raise ValueError(place)
        lines = (ROOT / place.file).read_text().splitlines(keepends=True)
        before, body = "".join(lines[: place.first]), "".join(lines[place.first : place.last])
        if body.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"{self.where} has this {body.count(self.old)} times: {self.old!r}")
        start = len(before) + body.index(self.old)
        return place.file, start, start + len(self.old)


@dataclass(frozen=True)
class Mutant:
    """``threat`` as in T26; ``what`` says what is missing now; ``tests`` are files, or single tests, to run."""

    threat: str
    what: str
    tests: tuple[str, ...]
    edits: tuple[Edit, ...]

    def is_caught_by(self, test: str) -> bool:
        """Whether that failed test is one of the threat's own."""
        return re.search(rf"_{self.threat.lower()}_", test) is not None

    def faults(self) -> Iterable[str]:
        files = {test.partition("::")[0] for test in self.tests}
        for file in sorted(files):
            if not (ROOT / file).exists():
                yield f"{self.threat}, {self.what}: there is no {file}"
        for edit in self.edits:
            try:
                edit.span()
            except ValueError as wrong:
                yield f"{self.threat}, {self.what}: {wrong}"

    def texts(self) -> dict[str, str]:
        """The files as they are without the defence."""
        cuts: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for edit in self.edits:
            file, start, end = edit.span()
            cuts[file].append((start, end, edit.new))
        changed = {}
        for file, found in cuts.items():
            text = (ROOT / file).read_text()
            for start, end, new in sorted(found, reverse=True):
                text = text[:start] + new + text[end:]
            changed[file] = text
        return changed


def read() -> list[Mutant]:
    """All of them, in the order of the tables."""
    return [_mutant(row) for path in TABLES for row in tomllib.loads(path.read_text()).get("mutant", [])]


def _mutant(row: dict[str, object]) -> Mutant:
    rows, tests = row["edit"], row["tests"]
    assert isinstance(rows, list)
    assert isinstance(tests, list)
    edits = tuple(Edit(edit.get("in") or edit["file"], edit["old"], edit["new"]) for edit in rows)
    return Mutant(str(row["threat"]), str(row["what"]), tuple(tests), edits)
