"""Cuts the definitions that are needed out of a protocol's published JSON schema, without its words.

``python -m tests.wires.schemas.cut SOURCE TARGET NAME… [--without NAME…]``
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

_WORDS = ("description", "title", "default")
_PREFIX = "#/$defs/"


def cut(whole: dict[str, Any], names: list[str], without: list[str]) -> dict[str, Any]:
    """The definitions with these names and all that they need; alternatives that are ``without`` are left out."""
    kept: dict[str, Any] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name in kept or name not in whole["$defs"]:
            continue
        kept[name] = _bare(whole["$defs"][name], {_PREFIX + one for one in without})
        wanted += _referred(kept[name])
    return {"$schema": whole["$schema"], "$defs": dict(sorted(kept.items()))}


def _bare(node: Any, without: set[str], *, names: bool = False) -> Any:
    """``names``: the keys of this object are names of properties, and no keywords."""
    if isinstance(node, list):
        kept = [one for one in node if not (isinstance(one, dict) and one.get("$ref") in without)]
        return [_bare(one, without) for one in kept]
    if not isinstance(node, dict):
        return node
    return {
        key: _bare(value, without, names=key == "properties" and not names)
        for key, value in node.items()
        if names or (key not in _WORDS and not key.startswith("x-"))
    }


def _referred(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for one in node for name in _referred(one)]
    if not isinstance(node, dict):
        return []
    found = [node["$ref"].removeprefix(_PREFIX)] if isinstance(node.get("$ref"), str) else []
    return found + [name for one in node.values() for name in _referred(one)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--without", nargs="*", default=[])
    given = parser.parse_args()
    found = cut(json.loads(given.source.read_text()), given.names, given.without)
    given.target.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
