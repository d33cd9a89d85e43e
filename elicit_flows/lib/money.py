"""Amounts of money: which currencies there are for us, how they count, how a reader writes them.

An amount is an integer of minor units (ISO 4217): 1999 is 19.99 EUR and 1999 JPY.
"""

from __future__ import annotations

import re

# Only currencies whose minor units ISO 4217 and Stripe count alike, with 0 or 2 digits. Left out on purpose: three
# digits (BHD, IQD, JOD, KWD, LYD, OMR, TND), those that Stripe counts in its own way (ISK, MGA, UGX), those no longer
# in use (ANG, BGN, HRK).
_WHOLE = "bif clp djf gnf jpy kmf krw pyg rwf vnd vuv xaf xof xpf"
_HUNDREDTHS = (
    "aed all amd aoa ars aud azn bam bbd bdt bmd bnd bob brl bsd bwp bzd cad chf cny cop crc cve czk dkk dop dzd egp "
    "etb eur fjd gbp gel gip gtq gyd hkd hnl huf idr ils inr jmd kes kgs khr kyd kzt lkr mad mdl mkd mop mur mvr mwk "
    "mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd sar sbd scr sek sgd szl thb top try ttd "
    "twd tzs uah usd uyu uzs wst xcd zar zmw"
)
DIGITS = dict.fromkeys(_WHOLE.split(), 0) | dict.fromkeys(_HUNDREDTHS.split(), 2)

# Signs that mean one currency to every reader; the others (kr, Rs, other dollars) are named by their code.
_SIGNS = {
    "aud": "A$", "brl": "R$", "cad": "CA$", "cny": "CN¥", "eur": "€", "gbp": "£", "hkd": "HK$", "ils": "₪", "inr": "₹",
    "jpy": "¥", "krw": "₩", "mxn": "MX$", "nzd": "NZ$", "php": "₱", "twd": "NT$", "usd": "$", "vnd": "₫",
}  # fmt: skip

# Language, or language and country: decimal mark, mark between thousands, whether the currency stands in front.
# After the Unicode CLDR; what is not listed is written as in English.
_NB, _NARROW = "\u00a0", "\u202f"
_COMMA_DOT = (",", ".", False)
_COMMA_SPACE = (",", _NB, False)
_HABITS = {
    "en": (".", ",", True),
    "bg": _COMMA_SPACE, "ca": _COMMA_DOT, "cs": _COMMA_SPACE, "da": _COMMA_DOT, "de": _COMMA_DOT,
    "de-at": (",", _NB, True), "de-ch": (".", "’", True), "de-li": (".", "’", True), "el": _COMMA_DOT,
    "es": _COMMA_DOT, "es-mx": (".", ",", True), "es-us": (".", ",", True), "et": _COMMA_SPACE, "fi": _COMMA_SPACE,
    "fr": (",", _NARROW, False), "fr-ca": _COMMA_SPACE, "hr": _COMMA_DOT, "hu": _COMMA_SPACE, "id": (",", ".", True),
    "it": _COMMA_DOT, "it-ch": (".", "’", True), "lt": _COMMA_SPACE, "lv": _COMMA_SPACE, "nb": _COMMA_SPACE,
    "nl": (",", ".", True), "nn": _COMMA_SPACE, "no": _COMMA_SPACE, "pl": _COMMA_SPACE, "pt": (",", ".", True),
    "pt-pt": _COMMA_SPACE, "ro": _COMMA_DOT, "ru": _COMMA_SPACE, "sk": _COMMA_SPACE, "sl": _COMMA_DOT,
    "sr": _COMMA_DOT, "sv": _COMMA_SPACE, "tr": (",", ".", True), "uk": _COMMA_SPACE, "vi": _COMMA_DOT,
}  # fmt: skip
_SPACED_IN_FRONT = ("nl", "pt", "de-at", "de-ch", "de-li", "it-ch")

_WRITTEN = re.compile(r"[0-9]{1,15}(\.[0-9]{1,2})?")


def digits(currency: str) -> int | None:
    """How many digits follow the decimal mark; None for a currency that is not accepted (or not in lower case)."""
    return DIGITS.get(currency)


def decimal(amount_minor: int, currency: str) -> str:
    """``12.50``, ``500``: with the currency's own number of digits, for providers that count in major units.

    Raises KeyError for a currency that is not accepted.
    """
    places = DIGITS[currency]
    return f"{amount_minor // 10**places}.{amount_minor % 10**places:0{places}d}" if places else str(amount_minor)


def minor(written: str, currency: str) -> int | None:
    """The opposite of ``decimal``; None for what it never writes, as too many or too few digits."""
    places = digits(currency)
    if places is None or not _WRITTEN.fullmatch(written):
        return None
    amount = int(written.replace(".", ""))
    return amount if decimal(amount, currency) == written else None


def show(amount_minor: int, currency: str, locale: str) -> str:
    """``$1,234.50``, ``1.234,50 €``, ``¥500``, ``CHF 5.00``: in the habits of ``locale``, a language tag (BCP 47).

    Blanks in it do not break. A currency that is not accepted is told in minor units, since nobody knows how it counts.
    """
    places = digits(currency)
    if places is None:
        return f"{amount_minor} minor units of {currency.upper()}"
    tag = _known(locale)
    decimal, thousands, in_front = _HABITS[tag]
    whole, cents = divmod(abs(amount_minor), 10**places)
    number = f"{whole:,}".replace(",", thousands)
    if places:
        number += f"{decimal}{cents:0{places}d}"
    minus = "-" if amount_minor < 0 else ""
    name = _SIGNS.get(currency, currency.upper())
    if not in_front:
        return f"{minus}{number}{_NB}{name}"
    blank = _NB if name.isalpha() or tag in _SPACED_IN_FRONT else ""
    return f"{minus}{name}{blank}{number}"


def _known(locale: str) -> str:
    tag = locale.strip().lower().replace("_", "-")
    while tag and tag not in _HABITS:
        tag = tag.rpartition("-")[0]
    return tag or "en"
