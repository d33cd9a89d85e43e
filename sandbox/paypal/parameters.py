"""Strict checks of parameters: which ones PayPal has, as the models of its library say, and which are simulated."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from sandbox.paypal import money
from sandbox.paypal.errors import PayPalError, unfit

Given = dict[str, Any]
MAX_CUSTOM_ID, MAX_DESCRIPTION, MAX_ITEM_NAME = 255, 3000, 127
# The parameters of each model, and whether the double simulates them. What it does not simulate is refused rather than
# silently ignored.
MODELS: dict[str, dict[str, bool]] = {
    "OrderRequest": {
        **dict.fromkeys(("intent", "purchase_units", "payment_source"), True),
        **dict.fromkeys(("processing_instruction", "payer", "application_context"), False),
    },
    "PurchaseUnitRequest": {
        **dict.fromkeys(("amount", "description", "custom_id", "items"), True),
        **dict.fromkeys(("reference_id", "payee", "payment_instruction", "invoice_id", "soft_descriptor"), False),
        **dict.fromkeys(("shipping", "supplementary_data"), False),
    },
    "AmountWithBreakdown": dict.fromkeys(("currency_code", "value", "breakdown"), True),
    "AmountBreakdown": {
        **dict.fromkeys(("item_total", "tax_total"), True),
        **dict.fromkeys(("shipping", "handling", "insurance", "shipping_discount", "discount"), False),
    },
    "ItemRequest": {
        **dict.fromkeys(("name", "unit_amount", "quantity"), True),
        **dict.fromkeys(("tax", "description", "sku", "url", "category", "image_url", "upc", "billing_plan"), False),
    },
    "PaymentSource": {
        "paypal": True,
        **dict.fromkeys(("card", "token", "bancontact", "blik", "eps", "giropay", "ideal", "mybank", "p24"), False),
        **dict.fromkeys(("sofort", "trustly", "apple_pay", "google_pay", "venmo"), False),
    },
    "PaypalWallet": {
        "experience_context": True,
        **dict.fromkeys(("vault_id", "email_address", "name", "phone", "birth_date", "tax_info", "address"), False),
        **dict.fromkeys(("attributes", "billing_agreement_id", "stored_credential"), False),
    },
    "PaypalWalletExperienceContext": {
        **dict.fromkeys(("locale", "shipping_preference", "contact_preference", "return_url", "cancel_url"), True),
        **dict.fromkeys(("landing_page", "user_action", "payment_method_preference"), True),
        **dict.fromkeys(("brand_name", "app_switch_context", "order_update_callback_config"), False),
    },
    "RefundRequest": {
        **dict.fromkeys(("amount", "custom_id", "note_to_payer"), True),
        **dict.fromkeys(("invoice_id", "payment_instruction"), False),
    },
}
CHOICES = {
    "shipping_preference": {"GET_FROM_FILE", "NO_SHIPPING", "SET_PROVIDED_ADDRESS"},
    "contact_preference": {"NO_CONTACT_INFO", "UPDATE_CONTACT_INFO", "RETAIN_CONTACT_INFO"},
    "landing_page": {"LOGIN", "GUEST_CHECKOUT", "NO_PREFERENCE", "BILLING"},
    "user_action": {"CONTINUE", "PAY_NOW"},
    "payment_method_preference": {"UNRESTRICTED", "IMMEDIATE_PAYMENT_REQUIRED"},
}
# developer.paypal.com/reference/locale-codes
_EAST = "ar-EG he-IL ja-JP ko-KR id-ID ru-RU th-TH zh-CN zh-HK zh-TW zh-XC"
_WEST = "cs-CZ da-DK de-DE el-GR en-AU en-GB en-IN en-US es-ES es-XC fi-FI fr-CA fr-FR fr-XC hu-HU it-IT nl-NL no-NO"
LOCALES = frozenset(f"{_EAST} {_WEST} pl-PL pt-BR pt-PT sk-SK sv-SE".split())


def model(name: str, given: Any, field: str, required: tuple[str, ...]) -> Given:
    """The object, if it has only parameters of this model that are simulated. Raises PayPalError."""
    if not isinstance(given, dict):
        raise unfit(field or "/", "INVALID_PARAMETER_SYNTAX", "SANDBOX: this has to be an object")
    for key in given:
        if not MODELS[name].get(key):
            why = "the sandbox does not simulate it" if key in MODELS[name] else "PayPal has no such parameter"
            raise unfit(f"{field}/{key}", "NOT_SUPPORTED", f"SANDBOX: {why}")
    for key in required:
        if key not in given:
            raise unfit(f"{field}/{key}", "MISSING_REQUIRED_PARAMETER")
    return given


def order(given: Any) -> tuple[Given, Given]:
    """The purchase unit and the experience context of an order. Raises PayPalError."""
    asked = model("OrderRequest", given, "", ("intent", "purchase_units", "payment_source"))
    if asked["intent"] != "CAPTURE":
        raise unfit("/intent", "NOT_SUPPORTED", "SANDBOX: only CAPTURE is simulated")
    units = asked["purchase_units"]
    if not isinstance(units, list) or len(units) != 1:
        raise unfit("/purchase_units", "NOT_SUPPORTED", "SANDBOX: one purchase unit is simulated")
    unit = model("PurchaseUnitRequest", units[0], "/purchase_units/0", ("amount",))
    money.read(unit["amount"], "purchase_units/0/amount")
    items(unit)
    for key, most in (("description", MAX_DESCRIPTION), ("custom_id", MAX_CUSTOM_ID)):
        words(unit, key, most, "/purchase_units/0")
    source = model("PaymentSource", asked["payment_source"], "/payment_source", ("paypal",))
    wallet = model("PaypalWallet", source["paypal"], "/payment_source/paypal", ("experience_context",))
    field = "/payment_source/paypal/experience_context"
    needed = ("return_url", "cancel_url")
    context = model("PaypalWalletExperienceContext", wallet["experience_context"], field, needed)
    for key in needed:
        parts = urlsplit(context[key]) if isinstance(context[key], str) else None
        if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc:
            raise unfit(f"{field}/{key}", "INVALID_PARAMETER_SYNTAX")
    for key, allowed in CHOICES.items():
        if context.get(key) not in {None, *allowed}:
            raise unfit(f"{field}/{key}", "INVALID_PARAMETER_VALUE")
    if context.get("locale") not in {None, *LOCALES}:
        raise unfit(f"{field}/locale", "INVALID_PARAMETER_VALUE")
    return unit, context


def items(unit: Given) -> None:
    """Items need their total, and the parts of the amount have to come to it. Raises PayPalError."""
    field = "/purchase_units/0"
    amount = model("AmountWithBreakdown", unit["amount"], f"{field}/amount", ("value",))
    if "items" not in unit and "breakdown" not in amount:
        return
    parts = model("AmountBreakdown", amount.get("breakdown", {}), f"{field}/amount/breakdown", ())
    if "item_total" not in parts:
        raise PayPalError(422, "ITEM_TOTAL_REQUIRED", field=f"{field}/amount/breakdown/item_total")
    sums = {name: money.read(one, f"purchase_units/0/amount/breakdown/{name}", 0)[0] for name, one in parts.items()}
    total = 0
    for number, one in enumerate(unit.get("items", [])):
        here = f"{field}/items/{number}"
        item = model("ItemRequest", one, here, ("name", "unit_amount", "quantity"))
        words(item, "name", MAX_ITEM_NAME, here)
        if not isinstance(item["quantity"], str) or not re.fullmatch("[1-9][0-9]{0,9}", item["quantity"]):
            raise unfit(f"{here}/quantity", "INVALID_PARAMETER_SYNTAX")
        total += int(item["quantity"]) * money.read(item["unit_amount"], f"{here[1:]}/unit_amount", 0)[0]
    if total != sums["item_total"]:
        raise PayPalError(422, "ITEM_TOTAL_MISMATCH", field=f"{field}/amount/breakdown/item_total")
    if sum(sums.values()) != money.read(amount)[0]:
        raise PayPalError(422, "AMOUNT_MISMATCH", field=f"{field}/amount/value")


def refund(given: Any) -> Given:
    """Without a body, all that is left is refunded."""
    asked = model("RefundRequest", given if given is not None else {}, "", ())
    for key, most in (("custom_id", MAX_CUSTOM_ID), ("note_to_payer", 255)):
        words(asked, key, most, "")
    return asked


def words(given: Given, key: str, most: int, field: str) -> None:
    value = given.get(key)
    if value is not None and not (isinstance(value, str) and 0 < len(value) <= most):
        raise unfit(f"{field}/{key}", "INVALID_STRING_LENGTH")
