"""Amounts in Mollie's form: ``{"currency": "EUR", "value": "12.50"}``. The double itself uses minor units."""

from __future__ import annotations

import re
from typing import Any

from sandbox.mollie.errors import unfit

WHOLE = frozenset({"ISK", "JPY"})
_HUNDREDTHS = "AED AUD BRL CAD CHF CZK DKK EUR GBP HKD HUF ILS MXN MYR NOK NZD PHP PLN RON SEK SGD THB TWD USD ZAR"
CURRENCIES = WHOLE | set(_HUNDREDTHS.split())
MAXIMUM = 100_000_000


def read(given: Any, field: str = "amount", least: int = 1) -> tuple[int, str]:
    """The amount in minor units, and its currency. Raises MollieError."""
    if not isinstance(given, dict) or given.keys() != {"currency", "value"}:
        raise unfit(field, "The amount needs a currency and a value, and nothing else")
    currency, value = given["currency"], given["value"]
    if currency not in CURRENCIES:
        raise unfit(f"{field}.currency", "The currency is not supported")
    form = "[0-9]+" if currency in WHOLE else r"[0-9]+\.[0-9]{2}"
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise unfit(f"{field}.value", "The value is no string with the right number of decimals")
    minor = int(value.replace(".", ""))
    if minor < least:
        raise unfit(field, "The amount is lower than the minimum")
    if minor > MAXIMUM:
        raise unfit(field, "The amount is higher than the maximum")
    return minor, currency


def written(minor: int, currency: str) -> dict[str, str]:
    value = str(minor) if currency in WHOLE else f"{minor // 100}.{minor % 100:02}"
    return {"currency": currency, "value": value}
