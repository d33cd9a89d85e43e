"""Strict checks of parameters: which ones Stripe has for a call, their types, and which of them are simulated.

``parameters.json`` has all parameters of the pinned SDK, and a test keeps it up to date. Those that are not listed
below are refused, because they would have no effect here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sandbox.stripe.errors import invalid, unsimulated

KNOWN: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("parameters.json").read_text(encoding="utf-8"))
_INTEGER = re.compile(r"-?\d{1,15}")
_NUMBER = re.compile(r"-?\d{1,12}(\.\d{1,12})?")
MAX_STRING = 5000
MAP_KEYS, MAP_NAME, MAP_VALUE = 50, 40, 500  # what Stripe's metadata holds

_PAGE = {"expand", "limit", "starting_after", "ending_before"}
_CREATED = {"created", "created.gt", "created.gte", "created.lt", "created.lte"}
SIMULATED: dict[str, set[str]] = {
    "POST /v1/checkout/sessions": {
        *("mode", "ui_mode", "success_url", "cancel_url", "client_reference_id", "metadata", "expires_at", "expand"),
        *("currency", "customer", "customer_creation", "customer_email", "locale", "submit_type"),
        *("line_items[].quantity", "line_items[].price_data.currency", "line_items[].price_data.unit_amount"),
        *("line_items[].price_data.product_data.name", "line_items[].price_data.product_data.description"),
        *("line_items[].price_data.recurring.interval", "line_items[].price_data.recurring.interval_count"),
        *("payment_intent_data.metadata", "payment_intent_data.description", "payment_intent_data.setup_future_usage"),
        *("setup_intent_data.metadata", "setup_intent_data.description"),
        *("subscription_data.metadata", "subscription_data.description"),
        *("payment_intent_data.application_fee_amount", "subscription_data.application_fee_percent"),
        *("subscription_data.trial_period_days", "payment_intent_data.capture_method"),
        *("line_items[].price_data.tax_behavior", "customer_update.address"),
        "invoice_creation.invoice_data.metadata",
        *("custom_text.submit.message", "allowed_payment_method_types[]", "excluded_payment_method_types[]"),
        *("allow_promotion_codes", "adaptive_pricing.enabled", "automatic_tax.enabled", "invoice_creation.enabled"),
        *("phone_number_collection.enabled", "tax_id_collection.enabled"),
    },
    "GET /v1/checkout/sessions": {*_PAGE, *_CREATED, "customer", "payment_intent", "status", "subscription"},
    "GET /v1/checkout/sessions/:id/line_items": _PAGE,
    "POST /v1/payment_intents": {
        *("amount", "currency", "customer", "payment_method", "description", "metadata", "expand"),
        *(
            "application_fee_amount",
            "confirm",
            "off_session",
            "automatic_payment_methods.enabled",
            "automatic_payment_methods.allow_redirects",
        ),
    },
    "POST /v1/payment_intents/:id/capture": {"amount_to_capture", "application_fee_amount", "expand"},
    "POST /v1/payment_intents/:id/cancel": {"cancellation_reason", "expand"},
    "GET /v1/payment_intents": {*_PAGE, *_CREATED, "customer"},
    "GET /v1/charges": {*_PAGE, *_CREATED, "customer", "payment_intent"},
    "POST /v1/subscriptions/:id": {
        *("expand", "cancel_at", "cancel_at_period_end", "default_payment_method", "proration_behavior", "items[].id"),
        *("items[].price_data.currency", "items[].price_data.product", "items[].price_data.unit_amount"),
        *("items[].price_data.recurring.interval", "items[].price_data.recurring.interval_count"),
    },
    "DELETE /v1/subscriptions/:id": {"expand"},
    "GET /v1/subscriptions": {*_PAGE, *_CREATED, "customer"},
    "GET /v1/invoices": {*_PAGE, *_CREATED, "customer", "status", "subscription"},
    "GET /v1/invoice_payments": {
        *_PAGE,
        *_CREATED,
        "invoice",
        "payment.payment_intent",
        "payment.type",
        "status",
    },
    "POST /v1/customers": {"expand", "description", "email", "metadata", "name"},
    "POST /v1/refunds": {
        *("expand", "amount", "charge", "metadata", "payment_intent", "reason", "refund_application_fee"),
    },
    "GET /v1/refunds": {*_PAGE, *_CREATED, "charge", "payment_intent"},
    "GET /v1/disputes": {*_PAGE, *_CREATED, "charge", "payment_intent"},
    "GET /v1/balance_transactions": {*_PAGE, *_CREATED, "type", "source"},
    "GET /v1/events": {*_PAGE, *_CREATED, "type", "types[]"},
}
ON = {"automatic_tax.enabled", "invoice_creation.enabled"}
OFF = {path for path in SIMULATED["POST /v1/checkout/sessions"] if path.endswith(".enabled")} - ON | {
    "allow_promotion_codes"
}

UNSET = {"cancel_at"}  # by an empty string


def checked(call: str, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters with numbers and booleans converted. Raises StripeError for what Stripe would refuse."""
    simulated = SIMULATED.get(call, {"expand"})
    return {name: Check(simulated).one(KNOWN[call].get(name), value, name, name) for name, value in given.items()}


class Check:
    """``said`` is the parameter in Stripe's spelling, ``path`` the same without numbers, as in the table above."""

    def __init__(self, simulated: set[str]) -> None:
        self.simulated = simulated

    def one(self, shape: Any, value: Any, said: str, path: str) -> Any:
        if shape is None:
            raise invalid(said, f"Received unknown parameter: {said}", "parameter_unknown")
        if isinstance(shape, list):
            return self.array(shape[0], value, said, path)
        if isinstance(shape, dict) and not (isinstance(value, str) and "" in shape):
            return self.hash(shape, value, said, path)
        if path.removesuffix("[]") not in self.simulated and path not in self.simulated:
            raise unsimulated(said)
        if path in UNSET and value == "":
            return value
        found = leaf(shape[""] if isinstance(shape, dict) else shape, value, said)
        if path in OFF and found is True:
            raise unsimulated(said)
        return found

    def array(self, shape: Any, value: Any, said: str, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise invalid(said, "Invalid array")
        return [self.one(shape, one, f"{said}[{number}]", f"{path}[]") for number, one in enumerate(value)]

    def hash(self, shape: dict[str, Any], value: Any, said: str, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise invalid(said, "Invalid object")
        return {
            name: self.one(shape.get(name), one, f"{said}[{name}]", f"{path}.{name}") for name, one in value.items()
        }


def leaf(shape: str, value: Any, said: str) -> Any:
    if shape == "map":
        return strings(value, said)
    if not isinstance(value, str):
        raise invalid(said, f"Invalid {shape}")
    if shape.startswith("="):
        return choice(shape[1:].split("|"), value, said)
    if shape == "integer":
        return integer(value, said)
    if shape == "boolean":
        return boolean(value, said)
    if shape == "number" and not _NUMBER.fullmatch(value):
        raise invalid(said, f"Invalid decimal: {value}")
    return text(value, said)


def choice(allowed: list[str], value: str, said: str) -> str:
    if value not in allowed:
        raise invalid(said, f"Invalid {said}: must be one of {', '.join(allowed)}")
    return value


def integer(value: str, said: str) -> int:
    if not _INTEGER.fullmatch(value):
        raise invalid(said, f"Invalid integer: {value}", "parameter_invalid_integer")
    return int(value)


def boolean(value: str, said: str) -> bool:
    if value not in {"true", "false"}:
        raise invalid(said, f"Invalid boolean: {value}")
    return value == "true"


def text(value: str, said: str) -> str:
    if not value:
        raise invalid(said, f"You passed an empty string for '{said}'.", "parameter_invalid_empty")
    if len(value) > MAX_STRING:
        raise invalid(said, f"Invalid string: {said} is longer than {MAX_STRING} characters")
    return value


def strings(value: Any, said: str) -> dict[str, str]:
    """Metadata: names and values are strings of limited length."""
    if value == "":
        return {}
    if not isinstance(value, dict) or any(not isinstance(one, str) for one in value.values()):
        raise invalid(said, "Metadata is a hash of strings")
    if len(value) > MAP_KEYS or any(len(name) > MAP_NAME for name in value):
        raise invalid(said, f"Metadata can have up to {MAP_KEYS} keys of up to {MAP_NAME} characters")
    if any(len(one) > MAP_VALUE for one in value.values()):
        raise invalid(said, f"Metadata values can have up to {MAP_VALUE} characters")
    return dict(value)
