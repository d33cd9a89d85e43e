"""The strictness: which parameters Mollie knows (docs.mollie.com/reference/create-payment), and which are simulated."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from sandbox.mollie import money
from sandbox.mollie.errors import unfit

Given = dict[str, Any]
MAX_METADATA = 1024  # bytes
# What Mollie takes and this double does nothing with. Better a loud refusal than a parameter without an effect.
UNSIMULATED = frozenset(
    {
        *(
            "lines",
            "billingAddress",
            "shippingAddress",
            "locale",
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


def text(field: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise unfit(field, f"The {field} is invalid")


def address(field: str, value: Any) -> None:
    """An absolute one. Mollie refuses webhooks that it cannot reach; this double is on the same machine."""
    parts = urlsplit(value) if isinstance(value, str) else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc:
        raise unfit(field, f"The {field} is invalid")


def metadata(field: str, value: Any) -> None:
    if len(json.dumps(value).encode()) > MAX_METADATA:
        raise unfit(field, "The metadata is too long")


def amount(field: str, value: Any) -> None:
    money.read(value, field)


PAYMENT: dict[str, Callable[[str, Any], None]] = {
    "amount": amount,
    "description": text,
    "redirectUrl": address,
    "cancelUrl": address,
    "webhookUrl": address,
    "metadata": metadata,
}
REFUND: dict[str, Callable[[str, Any], None]] = {"amount": amount, "description": text, "metadata": metadata}


def checked(given: Any, known: dict[str, Callable[[str, Any], None]], required: tuple[str, ...]) -> Given:
    """Raises MollieError for what Mollie would refuse, and for what it would overlook."""
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
