"""Strict checks of parameters: which ones Mollie has (docs.mollie.com/reference/create-payment), and which are
simulated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from sandbox.mollie import money
from sandbox.mollie.errors import unfit

Given = dict[str, Any]
MAX_METADATA = 1024  # bytes
# Parameters of Mollie's that this double does not simulate. They are refused rather than silently ignored.
UNSIMULATED = frozenset(
    {
        *(
            "billingAddress",
            "shippingAddress",
            "method",
            "issuer",
            "restrictPaymentMethodsToCountry",
        ),
        *("captureMode", "captureDelay", "applicationFee", "routing", "sequenceType", "mandateId", "customerId"),
        *("profileId", "dueDate", "testmode", "applePayPaymentToken", "company", "cardToken", "voucherNumber"),
        *("voucherPin", "consumerDateOfBirth", "digitalGoods", "customerReference", "terminalId", "externalReference"),
        *("reverseRouting", "routingReversals"),
    }
)


# docs.mollie.com/reference/create-payment, "locale"
_NORTH = "nb_NO sv_SE fi_FI da_DK is_IS hu_HU pl_PL lv_LV lt_LT"
LOCALES = frozenset(f"en_US en_GB nl_NL nl_BE de_DE de_AT de_CH fr_FR fr_BE es_ES ca_ES pt_PT it_IT {_NORTH}".split())


def text(field: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise unfit(field, f"The {field} is invalid")


def address(field: str, value: Any) -> None:
    """An absolute address. Mollie refuses webhooks that it cannot reach; this double is on the same machine."""
    parts = urlsplit(value) if isinstance(value, str) else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc:
        raise unfit(field, f"The {field} is invalid")


def metadata(field: str, value: Any) -> None:
    if len(json.dumps(value).encode()) > MAX_METADATA:
        raise unfit(field, "The metadata is too long")


def locale(field: str, value: Any) -> None:
    if value not in LOCALES:
        raise unfit(field, f"The {field} is invalid")


def amount(field: str, value: Any) -> None:
    money.read(value, field)


def lines(field: str, value: Any) -> None:
    """Each has a description, a quantity and two amounts. What they come to is looked at with the payment's amount."""
    if not isinstance(value, list) or not value:
        raise unfit(field, "The lines are invalid")
    for number, line in enumerate(value):
        here = f"{field}.{number}"
        if not isinstance(line, dict) or line.keys() != {"description", "quantity", "unitPrice", "totalAmount"}:
            raise unfit(here, "SANDBOX: a description, a quantity, a unit price and a total amount are simulated")
        text(f"{here}.description", line["description"])
        if not isinstance(line["quantity"], int) or line["quantity"] < 1:
            raise unfit(f"{here}.quantity", "The quantity is invalid")
        price, _ = money.read(line["unitPrice"], f"{here}.unitPrice", least=0)
        if money.read(line["totalAmount"], f"{here}.totalAmount", least=0)[0] != price * line["quantity"]:
            raise unfit(f"{here}.totalAmount", "The total amount is not the unit price times the quantity")


PAYMENT: dict[str, Callable[[str, Any], None]] = {
    "amount": amount,
    "description": text,
    "lines": lines,
    "redirectUrl": address,
    "cancelUrl": address,
    "webhookUrl": address,
    "locale": locale,
    "metadata": metadata,
}
REFUND: dict[str, Callable[[str, Any], None]] = {"amount": amount, "description": text, "metadata": metadata}


def checked(given: Any, known: dict[str, Callable[[str, Any], None]], required: tuple[str, ...]) -> Given:
    """Raises MollieError for what Mollie would refuse, and for what it would ignore."""
    if not isinstance(given, dict):
        raise unfit("body", "The body is no JSON object")
    for name, value in given.items():
        if name not in known:
            why = "the sandbox does not simulate it" if name in UNSIMULATED else "Mollie has no such parameter"
            raise unfit(name, f"SANDBOX: {why}")
        known[name](name, value)
    for name in required:
        if name not in given:
            raise unfit(name, f"The {name} is missing")
    return given
