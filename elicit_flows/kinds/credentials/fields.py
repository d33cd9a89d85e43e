"""The fields of a credentials page: their definition, and the check of what was typed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.params import is_line, is_text
from elicit_flows.lib.pattern import MAX_PATTERN, Pattern, PatternError
from elicit_flows.lib.sentences import sentence, sentences

MAX_FIELDS = 20
MAX_LABEL = 100
MAX_HELP = 500
MAX_EXAMPLE = 200
MAX_VALUE = 8192  # a private key in PEM has about 3,000 characters
MAX_MATCHED = 2000  # lower for a field with a pattern, because matching takes time for each character
AGENTS = ("name", "label", "secret", "help", "pattern")  # keys that an agent may give for a field
OPERATORS = (*AGENTS, "example")  # keys that an operator may give
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
TAKEN = "csrfmiddlewaretoken"  # the page's own

Fault = tuple[list[Any], str]

compiled = lru_cache(maxsize=256)(Pattern)


def faults(fields: Any, keys: Sequence[str]) -> Iterator[Fault]:
    """What is wrong with a list of fields whose allowed keys are ``keys``: the place in the list, and a sentence."""
    if not isinstance(fields, list) or not 1 <= len(fields) <= MAX_FIELDS:
        yield [], f"Give a list of 1 to {MAX_FIELDS} fields."
        return
    for place, field in enumerate(fields):
        yield from _faults(place, field, keys)
    seen: set[object] = set()
    for place, field in enumerate(fields):
        name = field.get("name") if isinstance(field, dict) else None
        if isinstance(name, str) and name in seen:
            yield [place, "name"], "Another field has this name."
        seen.add(name if isinstance(name, str) else place)


def complete(field: Json, keys: Sequence[str]) -> Json:
    """The field with every one of ``keys``. It is secret unless it says false."""
    return dict.fromkeys(keys) | {"secret": True} | field


def problem(field: Json, typed: str) -> str:
    """What is wrong with ``typed`` as this field's value, as a sentence that does not repeat it; "" if nothing is."""
    pattern = field.get("pattern")
    most = MAX_MATCHED if pattern else MAX_VALUE
    if not typed:
        return sentence("Fill this in.")
    if len(typed) > most:
        return sentences(
            "This may have at most %(count)s character.", "This may have at most %(count)s characters.", most
        )
    if "\0" in typed:
        return sentence("This contains a character that cannot be stored.")
    if pattern and not compiled(pattern).search(typed):
        return sentence("This does not have the expected form. Copy all of it again, and nothing else.")
    return ""


def _faults(place: int, field: Any, keys: Sequence[str]) -> Iterator[Fault]:
    if not isinstance(field, dict):
        yield [place], "Give an object with a name and a label."
        return
    for name in field:
        if name not in keys:
            yield [place, name], f"There is no such key; use {', '.join(keys)}."
    name = field.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name) or name == TAKEN:
        rule = "Give a name of 1 to 40 characters from a-z, 0-9 and _, beginning with a letter."
        yield [place, "name"], f"{rule} {TAKEN} is the page's own."
    if not is_line(field.get("label"), MAX_LABEL):
        yield [place, "label"], f"Give a label of 1 to {MAX_LABEL} visible characters on one line."
    if not isinstance(field.get("secret", True), bool):
        yield [place, "secret"], "Say true or false."
    if field.get("help") is not None and not is_text(field["help"], MAX_HELP):
        yield [place, "help"], f"Give at most {MAX_HELP} characters, or leave it out."
    if "example" in keys and field.get("example") is not None and not is_line(field["example"], MAX_EXAMPLE):
        yield [place, "example"], f"Give an example of at most {MAX_EXAMPLE} visible characters, or leave it out."
    if unfit := _unfit(field.get("pattern")):
        yield [place, "pattern"], unfit


def _unfit(pattern: Any) -> str:
    """Why this pattern cannot be used; "" if there is none, or if it can."""
    if pattern is None:
        return ""
    if not isinstance(pattern, str) or not 0 < len(pattern) <= MAX_PATTERN:
        return f"Give 1 to {MAX_PATTERN} characters, or leave it out."
    try:
        compiled(pattern)
    except PatternError as error:
        return str(error)
    return ""
