"""Amounts as PayPal writes them: major units as text, without decimals in three currencies.

The currencies are those of developer.paypal.com/reference/currency-codes. Ours are counted as in ``lib.money``: there
HUF and TWD have hundredths, so only whole amounts of them can be paid at PayPal.
"""

from __future__ import annotations

import re
from typing import Any

from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.parts import Thing, text
from elicit_flows.lib import money

WHOLE = frozenset({"huf", "jpy", "twd"})
_HUNDREDTHS = "aud brl cad chf cny czk dkk eur gbp hkd ils mxn myr nok nzd php pln sek sgd thb usd"
TAKEN = WHOLE | set(_HUNDREDTHS.split())
_WHOLE = re.compile(r"[0-9]{1,13}(\.0{1,2})?")


def written(minor: int, currency: str) -> dict[str, str]:
    """``{"currency_code": "EUR", "value": "12.50"}``. Raises Refused for what PayPal would not take."""
    if currency not in TAKEN:
        raise Refused("currency_not_supported", "PayPal takes no payments in this currency.")
    value = money.decimal(minor, currency)
    if currency in WHOLE and money.digits(currency):
        value, _, rest = value.partition(".")
        if rest.strip("0"):
            raise Refused("decimals_not_supported", "PayPal takes only whole amounts of this currency.")
    return {"currency_code": currency.upper(), "value": value}


def minor(amount: Thing) -> int:
    """In minor units; 0 if it does not have the currency's form."""
    code, value = currency(amount), text(amount.get("value"))
    if code in WHOLE and _WHOLE.fullmatch(value):
        value = value.partition(".")[0] + ("." + "0" * digits if (digits := money.digits(code)) else "")
    return money.minor(value, code) or 0


def currency(amount: Thing) -> str:
    return text(amount.get("currency_code")).lower()


def of(thing: Any) -> Thing:
    """The ``amount`` of an object."""
    found = thing.get("amount") if isinstance(thing, dict) else None
    return found if isinstance(found, dict) else {}
