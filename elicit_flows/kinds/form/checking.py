"""Whether a typed value answers a question. The same for what a page sends, a default, a draft, and at the end."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import lru_cache
from typing import Any

from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.fields import Field, Questions, Sort
from elicit_flows.kinds.form.limits import MAX_LINE, MAX_TEXT
from elicit_flows.kinds.form.reading import is_number
from elicit_flows.lib.pattern import Pattern
from elicit_flows.values import Json

compiled = lru_cache(maxsize=256)(Pattern)


def check_one(field: Field, value: Any) -> str:
    """What is wrong with ``value`` as the answer to ``field`` alone, in a sentence for a person; "" when nothing is.

    ``value`` is as the content has it: str, int, float, bool, list of str, or for a question with free-form input
    ``{value, freeformValues}``.
    """
    if field.freeform:
        return _freeform(field, value)
    return _CHECKS[field.sort](field, value)


def check_content(questions: Questions, content: Json) -> dict[str, str]:
    """What is wrong with a whole answer, by the questions' names on the page; empty when nothing is."""
    wrong: dict[str, str] = {}
    for field in questions.fields:
        if field.key in content:
            wrong[field.name] = check_one(field, content[field.key])
        elif field.required or field.vacant is not None:
            wrong[field.name] = missing(field)
    return {name: said for name, said in wrong.items() if said}


def missing(field: Field) -> str:
    if field.sort in (Sort.TEXT, Sort.NUMBER, Sort.INTEGER):
        return "Answer this question."
    return "Choose at least one." if field.sort == Sort.MANY else "Choose one."


def longest(field: Field) -> int:
    """How many characters an answer may have."""
    most = MAX_LINE if field.high is None else min(int(field.high), MAX_TEXT)
    return min(most, MAX_LINE) if field.pattern else most


def _text(field: Field, value: Any) -> str:
    said = _plain(value)
    if said:
        return said
    if len(value) < (field.low or 0):
        return f"Write at least {_count(field.low, 'character')}; these are {len(value)}."
    if len(value) > longest(field):
        return f"Write at most {_count(longest(field), 'character')}; these are {len(value)}."
    if field.format:
        said = formats.fault(field.format, value)
    if not said and field.pattern and not compiled(field.pattern).search(value):
        said = f"This does not fit the pattern {field.pattern} that is asked for."
    return said


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        return "Write a text."
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in value):
        return "There are characters in it that cannot be seen; write it again."
    return ""


def _number(field: Field, value: Any) -> str:
    if field.sort == Sort.INTEGER and not (is_number(value) and isinstance(value, int)):
        return "Write a whole number in digits, of at most 18 digits."
    if not is_number(value):
        return "Write a number in digits, such as 2026 or 3.5."
    if field.low is not None and value < field.low:
        return f"Write a number that is at least {show(field.low)}."
    if field.high is not None and value > field.high:
        return f"Write a number that is at most {show(field.high)}."
    return ""


def _boolean(field: Field, value: Any) -> str:
    return "" if isinstance(value, bool) else "Choose yes or no."


def _single(field: Field, value: Any) -> str:
    return "" if isinstance(value, str) and value in field.values else "Choose one of what is offered."


def _many(field: Field, value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(one, str) and one in field.values for one in value):
        return "Choose from what is offered."
    if len(set(value)) != len(value):
        return "Choose each of them once."
    return _how_many(field, len(value))


def _how_many(field: Field, chosen: int) -> str:
    if field.low is not None and chosen < field.low:
        return f"Choose at least {show(field.low)}."
    if field.high is not None and chosen > field.high:
        return f"Choose at most {show(field.high)}."
    return ""


def _freeform(field: Field, value: Any) -> str:
    """An own answer counts as one that is chosen: AHP has it instead of a selection, or beside several."""
    if not isinstance(value, dict) or set(value) != {"value", "freeformValues"}:
        return "Choose one of what is offered, or write an answer of your own."
    own = value["freeformValues"]
    if not isinstance(own, list) or len(own) > 1:
        return "Write one answer of your own."
    said = next((found for one in own if (found := _own(one))), "")
    if said:
        return said
    if field.sort == Sort.MANY:
        chosen = value["value"]
        return _many(replace(field, low=None, high=None), chosen) or _how_many(field, len(chosen) + len(own))
    if own:
        return "" if value["value"] is None else "Choose one of what is offered, or write your own answer; not both."
    return _single(field, value["value"])


def _own(value: Any) -> str:
    said = _plain(value)
    if said or not value.strip():
        return said or "Write your own answer."
    return "" if len(value) <= MAX_LINE else f"Write at most {MAX_LINE} characters."


def show(number: float | None) -> str:
    """A bound as a person writes it: 3, not 3.0."""
    return str(int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 1e15 else number)


def _count(number: float | None, noun: str) -> str:
    return f"{show(number)} {noun}" + ("" if number == 1 else "s")


_CHECKS = {
    Sort.TEXT: _text,
    Sort.NUMBER: _number,
    Sort.INTEGER: _number,
    Sort.BOOLEAN: _boolean,
    Sort.SINGLE: _single,
    Sort.MANY: _many,
}
