"""The tables beside this file: for every threat at least one edit that takes its defence out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TABLES = sorted(Path(__file__).parent.glob("*.toml"))


@dataclass(frozen=True)
class Edit:
    """``old`` stands once in ``file`` and becomes ``new``."""

    file: str
    old: str
    new: str

    def apply(self, tree: Path) -> None:
        path = tree / self.file
        path.write_text(path.read_text().replace(self.old, self.new))

    def fault(self) -> str:
        """What is wrong with it, if anything."""
        path = ROOT / self.file
        found = path.read_text().count(self.old) if path.is_file() else 0
        return "" if found == 1 and self.old != self.new else f"{self.file} has this {found} times: {self.old!r}"


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
        missing = [f"there is no {file}" for file in sorted(files) if not (ROOT / file).exists()]
        for fault in missing + [edit.fault() for edit in self.edits]:
            if fault:
                yield f"{self.threat}, {self.what}: {fault}"


def read() -> list[Mutant]:
    """All of them, in the order of the tables."""
    return [_mutant(row) for path in TABLES for row in tomllib.loads(path.read_text()).get("mutant", [])]


def _mutant(row: dict[str, object]) -> Mutant:
    edits = row["edit"]
    assert isinstance(edits, list)
    tests = row["tests"]
    assert isinstance(tests, list)
    return Mutant(str(row["threat"]), str(row["what"]), tuple(tests), tuple(Edit(**edit) for edit in edits))
