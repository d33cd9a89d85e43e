"""Numbers are read as people write them: the numeric keyboard of a phone has the decimal mark of its locale."""

from __future__ import annotations

import pytest
from babel import Locale

from elicit_flows.domain.values import Answer
from elicit_flows.kinds.form import drafts, page, params, submission
from elicit_flows.kinds.form.fields import Questions
from elicit_flows.lib import locales, sentences
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
        ("１２．５", "ja", 12.5), ("－３", "zh_Hans", -3),
        ("\u200f٣٫٥\u200f", "ar", 3.5), ("\u202d-2\u202c", "en", -2),
    ],
)  # fmt: skip
def test_a_number_may_have_the_readers_decimal_mark(text: str, locale: str, number: float) -> None:
    assert written(text, locale) == number


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("3,5", "en"), ("1,000", "en"), ("1.000,5", "de"), ("1,000,000", "de"), ("3,5", "ja"),
        ("1.000", "de"), ("-12.500", "it"), ("123.456", "pt_BR"), ("1.000", "es"), ("1.000.000", "nl"),
    ],
)  # fmt: skip
def test_what_may_mean_two_numbers_is_none(text: str, locale: str) -> None:
    assert written(text, locale) == text, "the person is asked to write it again"


@pytest.mark.parametrize(
    ("text", "locale", "number"),
    [
        ("1.000", "en", 1.0), ("1.000", "fr", 1.0), ("1.000", "es_MX", 1.0), ("1,000", "de", 1.0),
        ("0.125", "de", 0.125), ("1.5", "de", 1.5), ("1234.567", "de", 1234.567), ("1.0000", "de", 1.0),
    ],
)  # fmt: skip
def test_three_decimals_are_decimals_where_they_cannot_be_thousands(text: str, locale: str, number: float) -> None:
    assert written(text, locale) == number


@pytest.mark.parametrize("number", [1.125, -12.5, 123.456, 0.125, 1000, 1234.567])
@pytest.mark.parametrize("locale", ["de", "en", "fr", "nl"])
def test_a_number_that_the_page_shows_comes_back_as_it_was(number: float, locale: str) -> None:
    asked = of_schema({"x": {"type": "number", "default": number}})
    [field] = params.read(asked)[1].fields
    with locales.reading(Locale.parse(locale)):
        default = page.describe(field)["value"]
        [draft] = drafts.controls(field, {"state": drafts.DRAFT, "value": number})[field.name]
    assert written(default, locale) == written(draft, locale) == number


@pytest.mark.parametrize(("locale", "shown"), [("de", "1,125"), ("es", "1,125"), ("en", "1.125"), ("fr", "1.125")])
def test_a_bound_is_not_shown_as_one_a_thousand_times_as_large(locale: str, shown: str) -> None:
    for rule, typed in (("minimum", "1"), ("maximum", "2")):
        [field] = params.read(of_schema({"x": {"type": "number", rule: 1.125}}))[1].fields
        with locales.reading(Locale.parse(locale)):
            described = page.describe(field)
            said = submission.read(Questions((field,)), Answer({field.name: [typed]})).wrong[field.name]
        assert shown in (described["low"], described["high"])
        assert f" {shown}." in sentences.spoken(said, str, lambda one, several, count: several)
