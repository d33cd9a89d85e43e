"""Currencies, their smallest amounts, and how an amount is written."""

from __future__ import annotations

from sandbox.stripe.errors import invalid

# The smallest amounts that can be charged, in minor units, if it is not 50.
MINIMUM = {
    "aed": 200, "bgn": 100, "czk": 1500, "dkk": 250, "gbp": 30, "hkd": 400, "huf": 17500, "mxn": 1000, "myr": 200,
    "nok": 300, "pln": 200, "ron": 200, "sek": 300, "thb": 1000,
}  # fmt: skip
USUAL_MINIMUM = 50
MAXIMUM = 99_999_999
_WHOLE = "bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf"
_HUNDREDTHS = (
    "all amd aoa ars aud azn bam bbd bdt bmd bnd bob brl bsd bwp bzd cad chf cny cop crc cve dop dzd egp etb eur fjd "
    "gel gip gtq gyd hnl idr ils inr jmd kes kgs khr kyd kzt lkr mad mdl mkd mop mur mvr mwk mzn nad ngn nio npr nzd "
    "pab pen pgk php pkr qar rsd sar sbd scr sgd szl top try ttd twd tzs uah usd uyu uzs wst xcd zar zmw"
)
WITHOUT_MINOR_UNITS = frozenset(_WHOLE.split())
CURRENCIES = WITHOUT_MINOR_UNITS | set(_HUNDREDTHS.split()) | MINIMUM.keys()


def check_currency(currency: str, param: str) -> None:
    if currency not in CURRENCIES:
        raise invalid(param, f"Invalid currency: {currency}. Stripe takes lower-case codes that it supports.")


def check_total(amount: int, currency: str) -> None:
    """Zero is allowed, but not an amount below the minimum."""
    least = MINIMUM.get(currency, USUAL_MINIMUM)
    if 0 < amount < least:
        raise invalid("line_items", f"The total must be at least {shown(least, currency)}.", "amount_too_small")
    if amount > MAXIMUM:
        raise invalid("line_items", f"The total must be at most {shown(MAXIMUM, currency)}.", "amount_too_large")


def shown(amount: int, currency: str) -> str:
    """``1,234.50 EUR``, ``500 JPY``."""
    if currency in WITHOUT_MINOR_UNITS:
        return f"{amount:,} {currency.upper()}"
    whole, minor = divmod(amount, 100)
    return f"{whole:,}.{minor:02} {currency.upper()}"
