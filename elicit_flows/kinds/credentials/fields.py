"""The fields of a page for credentials: what may be said of them, and whether what was typed fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from elicit_flows.kinds.params import is_line, is_text
from elicit_flows.lib.pattern import MAX_PATTERN, Pattern, PatternError
from elicit_flows.values import Json

MAX_FIELDS = 20
MAX_LABEL = 100
MAX_HELP = 500
MAX_EXAMPLE = 200
MAX_VALUE = 8192  # a private key in PEM has about 3,000 characters
MAX_MATCHED = 2000  # the same where a pattern is held against it, which takes time for each character
AGENTS = ("name", "label", "secret", "help", "pattern")  # what an agent may say of a field
OPERATORS = (*AGENTS, "example")  # what an operator may
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

Fault = tuple[list[Any], str]

compiled = lru_cache(maxsize=256)(Pattern)


def faults(fields: Any, keys: Sequence[str]) -> Iterator[Fault]:
    """What is wrong with a list of fields that may say ``keys``: the place in it, and a sentence."""
    if not isinstance(fields, list) or not 1 <= len(fields) <= MAX_FIELDS:
        yield [], f"Give a list of 1 to {MAX_FIELDS} fields."
        return
    for place, field in enumerate(fields):
        yield from _faults(place, field, keys)
    yield from _repeated(fields)


def complete(field: Json, keys: Sequence[str]) -> Json:
    """The field with every one of ``keys``. It is secret unless it says false."""
    return dict.fromkeys(keys) | {"secret": True} | field


def problem(field: Json, typed: str) -> str:
    """What is wrong with ``typed`` as this field's value, in a sentence that does not repeat it; "" when nothing is."""
    label, pattern = field["label"], field.get("pattern")
    most = MAX_MATCHED if pattern else MAX_VALUE
    if not typed:
        return f"{label} is missing."
    if len(typed) > most:
        return f"{label} may have {most} characters."
    if "\0" in typed:
        return f"{label} has a character that cannot be kept."
    if pattern and not compiled(pattern).search(typed):
        return f"{label} does not look as it should. Copy it again, whole and nothing else."
    return ""


def _faults(place: int, field: Any, keys: Sequence[str]) -> Iterator[Fault]:
    if not isinstance(field, dict):
        yield [place], "A field is an object with a name and a label."
        return
    for name in field:
        if name not in keys:
            yield [place, name], f"There is no such key; use {', '.join(keys)}."
    name = field.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield [place, "name"], "Name it in 1 to 40 of a-z, 0-9 and _, beginning with a letter."
    if not is_line(field.get("label"), MAX_LABEL):
        yield [place, "label"], f"Label it in 1 to {MAX_LABEL} visible characters on one line."
    if not isinstance(field.get("secret", True), bool):
        yield [place, "secret"], "Say true or false."
    if field.get("help") is not None and not is_text(field["help"], MAX_HELP):
        yield [place, "help"], f"Help in at most {MAX_HELP} characters, or leave it out."
    if "example" in keys and field.get("example") is not None and not is_line(field["example"], MAX_EXAMPLE):
        yield [place, "example"], f"Give an example of at most {MAX_EXAMPLE} visible characters, or leave it out."
    if unfit := _unfit(field.get("pattern")):
        yield [place, "pattern"], unfit


def _unfit(pattern: Any) -> str:
    """Why this pattern cannot be used; "" for none and for one that can."""
    if pattern is None:
        return ""
    if not isinstance(pattern, str) or not 0 < len(pattern) <= MAX_PATTERN:
        return f"Give 1 to {MAX_PATTERN} characters, or leave it out."
    try:
        compiled(pattern)
    except PatternError as error:
        return str(error)
    return ""


def _repeated(fields: list[Any]) -> Iterator[Fault]:
    seen: set[object] = set()
    for place, field in enumerate(fields):
        name = field.get("name") if isinstance(field, dict) else None
        if isinstance(name, str) and name in seen:
            yield [place, "name"], "Another field has this name."
        seen.add(name if isinstance(name, str) else place)
