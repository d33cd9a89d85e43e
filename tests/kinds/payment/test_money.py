"""Currencies and amounts as people read them."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.lib import amounts, money

THREE_DIGITS = ["bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd"]
COUNTED_DIFFERENTLY = ["isk", "mga", "ugx"]


@pytest.mark.parametrize(("currency", "digits"), [("eur", 2), ("usd", 2), ("chf", 2), ("jpy", 0), ("krw", 0)])
def test_a_currency_has_its_minor_units(currency: str, digits: int) -> None:
    assert money.digits(currency) == digits


@pytest.mark.parametrize("currency", [*THREE_DIGITS, *COUNTED_DIFFERENTLY, "xxx", "btc", "EUR", "eur ", "", "euro"])
def test_any_other_currency_is_not_accepted(currency: str) -> None:
    assert money.digits(currency) is None


def test_every_currency_is_three_small_letters_with_none_or_two_digits() -> None:
    assert all(re.fullmatch("[a-z]{3}", currency) for currency in money.DIGITS)
    assert set(money.DIGITS.values()) == {0, 2}


@pytest.mark.parametrize(
    ("amount", "currency", "locale", "shown"),
    [
        (500, "jpy", "en", "¥500"),
        (29, "eur", "en", "€0.29"),
        (1999, "eur", "en-GB", "€19.99"),
        (435, "eur", "de", "4,35\u00a0€"),
        (1999, "eur", "de_DE", "19,99\u00a0€"),
        (123456789, "eur", "de", "1.234.567,89\u00a0€"),
        (123456789, "eur", "fr", "1\u202f234\u202f567,89\u00a0€"),
        (123456, "eur", "nl", "€\u00a01.234,56"),
        (123456, "chf", "de-CH", "CHF\u00a01’234.56"),
        (123456, "chf", "en", "CHF\u00a01,234.56"),
        (123456, "sek", "sv-SE", "1\u00a0234,56\u00a0kr"),
        (123456, "brl", "pt-BR", "R$\u00a01.234,56"),
        (123456, "usd", "ja", "$1,234.56"),
        (1234567, "jpy", "ja-JP", "\uffe51,234,567"),
        (500, "jpy", "de", "500\u00a0¥"),
        (5, "usd", "en-US", "$0.05"),
        (0, "usd", "en", "$0.00"),
        (-1050, "usd", "en", "-$10.50"),
        (-1050, "eur", "de", "-10,50\u00a0€"),
        (500, "cad", "en", "CA$5.00"),
        (123456, "usd", "ar", "\u200f1,234.56\u00a0US$\u200e"),
        (500, "jpy", "ar", "\u200f500\u00a0JP¥\u200e"),
        (500, "eur", "ar", "\u200f5.00\u00a0€"),
        (500, "brl", "pt-BR", "R$\u00a05,00"),
        (1, "usd", "", "$0.01"),
        (1, "usd", "tlh-Latn-x", "$0.01"),
        (1234, "kwd", "en", "1234 minor units of KWD"),
    ],
)
def test_an_amount_is_written_as_its_reader_writes_it(amount: int, currency: str, locale: str, shown: str) -> None:
    assert amounts.show(amount, currency, locale) == shown


@given(st.integers(-(10**12), 10**12), st.sampled_from(sorted(money.DIGITS)), st.sampled_from(["en", "de", "fr", "x"]))
def test_not_a_cent_is_lost_on_the_way_to_the_page(amount: int, currency: str, locale: str) -> None:
    shown = amounts.show(amount, currency, locale)
    places = money.DIGITS[currency]
    assert int("".join(filter(str.isdecimal, shown))) * (-1 if shown.startswith("-") else 1) == amount
    if places:
        cents = re.search(r"[.,](\d\d)(?!\d)(?=\D*$)", shown)
        assert cents
        assert int(cents[1]) == int(abs(Decimal(amount)) % 100)
