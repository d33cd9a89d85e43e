"""Numbers are read as people write them: the numeric keyboard of a phone has the decimal mark of its locale."""

from __future__ import annotations

import pytest
from babel import Locale

from elicit_flows.domain.values import Answer
from elicit_flows.kinds.form import params, submission
from elicit_flows.lib import locales
from tests.kinds.form.asked import of_schema


def written(text: str, locale: str) -> object:
    [field] = params.read(of_schema({"x": {"type": "number"}}))[1].fields
    with locales.reading(Locale.parse(locale)):
        return submission.value_of(field, Answer({field.name: [text]}))


@pytest.mark.parametrize(
    ("text", "locale", "number"),
    [
        ("3,5", "de", 3.5), ("3,5", "pt_BR", 3.5), ("-0,25", "fr", -0.25), ("3.5", "de", 3.5), ("3.5", "en", 3.5),
        ("3.5", "es_MX", 3.5), ("٣٫٥", "ar", 3.5), ("2026", "de", 2026),
    ],
)  # fmt: skip
def test_a_number_may_have_the_readers_decimal_mark(text: str, locale: str, number: float) -> None:
    assert written(text, locale) == number


@pytest.mark.parametrize(
    ("text", "locale"), [("3,5", "en"), ("1,000", "en"), ("1.000,5", "de"), ("1,000,000", "de"), ("3,5", "ja")]
)
def test_what_may_mean_two_numbers_is_none(text: str, locale: str) -> None:
    assert written(text, locale) == text, "the person is asked to write it again"
