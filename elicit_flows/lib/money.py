"""Amounts of money: the accepted currencies and their minor units. How readers write amounts is in amounts.py.

An amount is an integer of minor units (ISO 4217): 1999 is 19.99 EUR and 1999 JPY.
"""

from __future__ import annotations

import re

# Only currencies with 0 or 2 decimals in both ISO 4217 and Stripe. Left out on purpose: three decimals (BHD, IQD, JOD,
# KWD, LYD, OMR, TND), those that Stripe counts differently (ISK, MGA, UGX), and those no longer in use (ANG, BGN, HRK).
_WHOLE = "bif clp djf gnf jpy kmf krw pyg rwf vnd vuv xaf xof xpf"
_HUNDREDTHS = (
    "aed all amd aoa ars aud azn bam bbd bdt bmd bnd bob brl bsd bwp bzd cad chf cny cop crc cve czk dkk dop dzd egp "
    "etb eur fjd gbp gel gip gtq gyd hkd hnl huf idr ils inr jmd kes kgs khr kyd kzt lkr mad mdl mkd mop mur mvr mwk "
    "mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd sar sbd scr sek sgd szl thb top try ttd "
    "twd tzs uah usd uyu uzs wst xcd zar zmw"
)
DIGITS = dict.fromkeys(_WHOLE.split(), 0) | dict.fromkeys(_HUNDREDTHS.split(), 2)

_WRITTEN = re.compile(r"[0-9]{1,15}(\.[0-9]{1,2})?")


def digits(currency: str) -> int | None:
    """The number of decimals; None for a currency that is not accepted (or not in lower case)."""
    return DIGITS.get(currency)


def decimal(amount_minor: int, currency: str) -> str:
    """``12.50``, ``500``: with the currency's own number of decimals, for providers that use major units.

    Raises KeyError for a currency that is not accepted.
    """
    places = DIGITS[currency]
    return f"{amount_minor // 10**places}.{amount_minor % 10**places:0{places}d}" if places else str(amount_minor)


def minor(written: str, currency: str) -> int | None:
    """The reverse of ``decimal``; None for text that it never writes, for example with too many or too few decimals."""
    places = digits(currency)
    if places is None or not _WRITTEN.fullmatch(written):
        return None
    amount = int(written.replace(".", ""))
    return amount if decimal(amount, currency) == written else None
