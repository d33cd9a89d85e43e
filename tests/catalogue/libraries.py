"""What maintained libraries say about providers, to compare the catalogue with."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from elicit_flows.catalogue import Entry

HERE = Path(__file__).resolve().parent
_PLACE = re.compile(r"\$?\{\w+\}|\[\w+\]|\bNone\b")

Pair = tuple[str, str]


@cache
def facts(node: Path) -> Mapping[str, frozenset[Pair]]:
    """By library, the pairs of authorization and token endpoint that it knows."""
    python = _printed(sys.executable, str(HERE / "facts.py"))
    return {name: frozenset(map(_bare, pairs)) for name, pairs in {**python, **_printed(*_peers(node))}.items()}


def agreeing(entry: Entry, known: Mapping[str, frozenset[Pair]]) -> list[str]:
    """The libraries that name the same two endpoints, in the order of the alphabet.

    None where the host is the customer's own: the same path at another program's host is no agreement.
    """
    ours = _bare((entry.endpoints.authorize or "", entry.endpoints.token or ""))
    if ours[0].startswith("https://*/"):
        return []
    return sorted(name for name, pairs in known.items() if ours in pairs)


def _peers(node: Path) -> tuple[str, str]:
    return str(node), str(HERE.parent / "peers" / "facts.mjs")


def _printed(*command: str) -> dict[str, list[Pair]]:
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, list[Pair]] = json.loads(ran.stdout)
    return found


def _bare(pair: Pair) -> Pair:
    """Without what says nothing about where it is: query, a slash at the end or twice, how a variable is called."""
    authorize, token = (_PLACE.sub("*", url.partition("?")[0]) for url in pair)
    return _plain(authorize), _plain(token)


def _plain(url: str) -> str:
    base = re.sub(r"^\*(?=/)", "https://*", url)
    return re.sub(r"(?<!:)/{2,}", "/", base).rstrip("/")
