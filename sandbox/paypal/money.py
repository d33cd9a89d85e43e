"""Amounts in PayPal's form: ``{"currency_code": "EUR", "value": "12.50"}``. The double uses the smallest unit."""

from __future__ import annotations

import re
from typing import Any

from sandbox.paypal.errors import PayPalError, unfit

# developer.paypal.com/reference/currency-codes
WHOLE = frozenset({"HUF", "JPY", "TWD"})
_HUNDREDTHS = "AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD ILS MXN MYR NOK NZD PHP PLN SEK SGD THB USD"
CURRENCIES = WHOLE | set(_HUNDREDTHS.split())


def read(given: Any, field: str = "amount", least: int = 1) -> tuple[int, str]:
    """The amount in the smallest unit, and its currency. Raises PayPalError."""
    if not isinstance(given, dict) or given.keys() - {"breakdown"} != {"currency_code", "value"}:
        raise unfit(f"/{field}", "INVALID_PARAMETER_SYNTAX", "SANDBOX: a currency code and a value, and nothing else")
    currency, value = given["currency_code"], given["value"]
    if currency not in CURRENCIES:
        raise PayPalError(422, "CURRENCY_NOT_SUPPORTED", field=f"/{field}/currency_code")
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,2})?", value):
        raise unfit(f"/{field}/value", "INVALID_PARAMETER_SYNTAX")
    whole, _, rest = value.partition(".")
    if currency in WHOLE and rest:
        raise PayPalError(422, "DECIMALS_NOT_SUPPORTED", field=f"/{field}/value")
    minor = int(whole) if currency in WHOLE else int(whole) * 100 + int(rest.ljust(2, "0"))
    if minor < least:
        raise PayPalError(422, "CANNOT_BE_ZERO_OR_NEGATIVE", field=f"/{field}/value")
    return minor, currency


def written(minor: int, currency: str) -> dict[str, str]:
    value = str(minor) if currency in WHOLE else f"{minor // 100}.{minor % 100:02}"
    return {"currency_code": currency, "value": value}
