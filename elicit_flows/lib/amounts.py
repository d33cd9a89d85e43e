"""Amounts of money as readers of a locale write them (Unicode CLDR, by Babel)."""

from __future__ import annotations

import re
from decimal import Context, Decimal

from babel import Locale
from babel.numbers import parse_pattern

from elicit_flows.lib import locales, money

# A code stands apart from its number (CLDR, "currencySpacing", which Babel does not apply).
_CODE_BEFORE_NUMBER = re.compile(r"(?<=[A-Za-z])(?=[0-9])")
# Letters before a sign, "US$", at the end: from right to left the sign would go to the other side of them.
_CODE_BEFORE_SIGN = re.compile(r"(?<=[A-Za-z][^\w\s])$")
_LEFT_TO_RIGHT_MARK = "\u200e"
_EXACT = Context(prec=40)


def show(amount_minor: int, currency: str, locale: str | Locale) -> str:
    """``$1,234.50``, ``1.234,50 €``, ``¥500``, ``CHF 5.00``: as written in ``locale``, or under its language tag
    (BCP 47). Its spaces do not break. It always has the currency's own decimals, also where people leave them out.

    A currency that is not accepted is shown in minor units, because its decimals are not known.
    """
    places = money.digits(currency)
    if places is None:
        return f"{amount_minor} minor units of {currency.upper()}"
    known = locale if isinstance(locale, Locale) else locales.parse(locale) or Locale("en")
    pattern = parse_pattern(known.currency_formats["standard"].pattern)
    pattern.frac_prec = (places, places)
    amount = Decimal(amount_minor).scaleb(-places, _EXACT)
    shown = pattern.apply(amount, known, currency=currency.upper(), currency_digits=False)
    shown = _CODE_BEFORE_NUMBER.sub("\u00a0", shown).replace(" ", "\u00a0")
    return _CODE_BEFORE_SIGN.sub(_LEFT_TO_RIGHT_MARK, shown) if known.text_direction == "rtl" else shown


def token(amount: int, decimals: int, symbol: str, locale: str | Locale) -> str:
    """``0.01 USDC``: an amount in a token's smallest unit, exact, with at least two decimals. Its space does not
    break.
    """
    known = locale if isinstance(locale, Locale) else locales.parse(locale) or Locale("en")
    pattern = parse_pattern(known.decimal_formats[None].pattern)
    pattern.frac_prec = (min(2, decimals), decimals)
    shown = pattern.apply(Decimal(amount).scaleb(-decimals, _EXACT), known)
    return f"{shown} {symbol}".replace(" ", "\u00a0")
