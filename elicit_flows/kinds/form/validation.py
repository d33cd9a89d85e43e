"""Whether a value answers a question: for pages, defaults, drafts, and the final check."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import lru_cache
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.fields import Field, Questions, Sort
from elicit_flows.kinds.form.limits import MAX_LINE, MAX_TEXT
from elicit_flows.kinds.form.object_reader import is_number
from elicit_flows.lib.pattern import Pattern, example
from elicit_flows.lib.sentences import Sentence, sentence, sentences

compiled = lru_cache(maxsize=256)(Pattern)


def check_one(field: Field, value: Any) -> str:
    """What is wrong with ``value`` as the answer to ``field``, as a sentence for a person; "" if nothing is.

    ``value`` has the content's form: str, int, float, bool, list of str, or ``{value, freeformValues}`` for a question
    with free-form input.
    """
    if field.freeform:
        return _freeform(field, value)
    return _CHECKS[field.sort](field, value)


def check_content(questions: Questions, content: Json) -> dict[str, str]:
    """What is wrong with all answers together, by the questions' names on the page; empty if nothing is."""
    wrong: dict[str, str] = {}
    for field in questions.fields:
        if field.key in content:
            wrong[field.name] = check_one(field, content[field.key])
        elif field.required or field.vacant is not None:
            wrong[field.name] = missing(field)
    return {name: said for name, said in wrong.items() if said}


def missing(field: Field) -> str:
    if field.sort in (Sort.TEXT, Sort.NUMBER, Sort.INTEGER):
        return sentence("Answer this question.")
    return sentence("Choose at least one.") if field.sort == Sort.MANY else sentence("Choose one.")


def longest(field: Field) -> int:
    """How many characters an answer may have."""
    most = MAX_LINE if field.high is None else min(int(field.high), MAX_TEXT)
    return min(most, MAX_LINE) if field.pattern else most


def _text(field: Field, value: Any) -> str:
    said = _plain(value)
    if said:
        return said
    if len(value) < (field.low or 0):
        return sentences(
            "Write at least %(count)s character; this has %(written)s.",
            "Write at least %(count)s characters; this has %(written)s.",
            int(field.low or 0),
            written=len(value),
        )
    if len(value) > longest(field):
        return _too_long(longest(field), len(value))
    if field.format:
        said = formats.fault(field.format, value)
    if not said and field.pattern and not compiled(field.pattern).search(value):
        said = _unfitting(field)
    return said


def _unfitting(field: Field) -> str:
    """The message for a text that does not match the pattern. It shows an example, since few people read patterns."""
    if example := example_of(field):
        return sentence("This does not have the expected form. Write it like “%(example)s”.", example=example)
    if field.help:
        return sentence("This does not have the expected form. Read the text beside the question.")
    return sentence("This does not match the pattern %(pattern)s.", pattern=field.pattern)


def example_of(field: Field) -> str:
    """A text that fits the field's pattern and bounds; "" if there is none to show."""
    said = example(field.pattern) if field.pattern else ""
    return said if (field.low or 0) <= len(said) <= longest(field) else ""


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        return sentence("Write a text.")
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in value):
        return sentence("There are characters in it that cannot be seen; write it again.")
    return ""


def _number(field: Field, value: Any) -> str:
    if field.sort == Sort.INTEGER and not (is_number(value) and isinstance(value, int)):
        return sentence("Write a whole number in digits, of at most 18 digits.")
    if not is_number(value):
        return sentence("Write a number in digits, such as 2026 or 3.5.")
    if field.low is not None and value < field.low:
        return sentence("Write a number that is at least %(bound)s.", bound=show(field.low))
    if field.high is not None and value > field.high:
        return sentence("Write a number that is at most %(bound)s.", bound=show(field.high))
    return ""


def _boolean(field: Field, value: Any) -> str:
    return "" if isinstance(value, bool) else sentence("Choose yes or no.")


def _single(field: Field, value: Any) -> str:
    return "" if isinstance(value, str) and value in field.values else sentence("Choose one of what is offered.")


def _many(field: Field, value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(one, str) and one in field.values for one in value):
        return sentence("Choose from what is offered.")
    if len(set(value)) != len(value):
        return sentence("Choose each of them once.")
    return _how_many(field, len(value))


def _how_many(field: Field, chosen: int) -> str:
    if field.low is not None and chosen < field.low:
        return sentences("Choose at least %(count)s.", "Choose at least %(count)s.", int(field.low))
    if field.high is not None and chosen > field.high:
        return sentences("Choose at most %(count)s.", "Choose at most %(count)s.", int(field.high))
    return ""


def _freeform(field: Field, value: Any) -> str:
    """The check of a choice with free-form input. A written answer counts as one choice, alone or beside others."""
    if not isinstance(value, dict) or set(value) != {"value", "freeformValues"}:
        return sentence("Choose one of what is offered, or write an answer of your own.")
    own = value["freeformValues"]
    if not isinstance(own, list) or len(own) > 1:
        return sentence("Write one answer of your own.")
    said = next((found for one in own if (found := _own(one))), "")
    if said:
        return said
    if field.sort == Sort.MANY:
        chosen = value["value"]
        return _many(replace(field, low=None, high=None), chosen) or _how_many(field, len(chosen) + len(own))
    if own:
        return (
            ""
            if value["value"] is None
            else sentence("Choose one of what is offered, or write your own answer; not both.")
        )
    return _single(field, value["value"])


def _own(value: Any) -> str:
    said = _plain(value)
    if said or not value.strip():
        return said or sentence("Write your own answer.")
    return "" if len(value) <= MAX_LINE else _too_long(MAX_LINE, len(value))


def show(number: float | None) -> str:
    """A bound as a person writes it: 3, not 3.0."""
    return str(int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 1e15 else number)


def _too_long(most: int, written: int) -> Sentence:
    return sentences(
        "Write at most %(count)s character; this has %(written)s.",
        "Write at most %(count)s characters; this has %(written)s.",
        most,
        written=written,
    )


_CHECKS = {
    Sort.TEXT: _text,
    Sort.NUMBER: _number,
    Sort.INTEGER: _number,
    Sort.BOOLEAN: _boolean,
    Sort.SINGLE: _single,
    Sort.MANY: _many,
}
