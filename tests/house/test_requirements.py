"""Every package that the service imports is named in requirements.in."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = {"config", "elicit_flows", "gallery", "sandbox"}
FOLDERS = ("config", "elicit_flows")
SDK = ROOT / "elicit_flows" / "sdk"  # its wheel has extras of its own, in pyproject.toml


def imported(text: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - OURS - set(sys.stdlib_module_names)


def missing(names: set[str], said: set[str]) -> set[str]:
    known = packages_distributions()
    return {name for name in names if not {one.lower().replace("_", "-") for one in known.get(name, [name])} & said}


def test_everything_that_is_imported_is_required() -> None:
    files = ("requirements.in", "requirements-extras.in")
    said = {
        name.lower() for file in files for name in re.findall(r"^([\w-]+)", (ROOT / file).read_text(), re.MULTILINE)
    }
    names = {
        name
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if not path.is_relative_to(SDK)
        for name in imported(path.read_text(encoding="utf-8"))
    }
    assert {"django", "psycopg", "httptools"} <= names
    assert missing(names, said) == set()
    assert missing(names, said - {"httptools"}) == {"httptools"}
