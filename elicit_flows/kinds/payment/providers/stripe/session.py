"""The parameters of a Checkout Session (docs.stripe.com/api/checkout/sessions/create)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from elicit_flows.kinds.payment.values import Account, Ask, Line
from elicit_flows.lib import clock

OUR_ID = "our_id"  # in the metadata of every object that we create
ORDER_NUMBER = "order_number"
SHORTEST, LONGEST = timedelta(minutes=30), timedelta(hours=24)
_SLACK = timedelta(minutes=1)  # between our clock and Stripe's
_GRID = 600  # seconds
_MODES = {"pay": "payment", "save": "setup", "subscribe": "subscription"}
# Ours, among those that Checkout takes (docs.stripe.com/js/appendix/supported_locales). For others it asks the browser.
_LOCALES = {code: code for code in ("de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl")} | {
    "pt-br": "pt-BR",
    "zh-hans": "zh",
}
_DATA = {"pay": "payment_intent_data", "save": "setup_intent_data", "subscribe": "subscription_data"}


def params(ask: Ask, account: Account) -> dict[str, Any]:
    """They do not name the payer, and only the ask decides what is paid."""
    named = {OUR_ID: ask.our_id}
    if ask.order and ask.order.number:
        named[ORDER_NUMBER] = ask.order.number
    asked: dict[str, Any] = {
        "mode": _MODES[ask.mode],
        "client_reference_id": ask.our_id,
        "metadata": named,
        _DATA[ask.mode]: {"description": ask.description, "metadata": named},
        "success_url": ask.return_url,
        "cancel_url": ask.cancel_url,
        "expires_at": int(_within_window(ask.expires_at).timestamp()),
    }
    if ask.mode == "save":  # has no line item, so the description is shown at the button, and needs a customer
        asked |= {"currency": ask.currency, "custom_text": {"submit": {"message": ask.description}}}
        asked |= {} if ask.customer else {"customer_creation": "always"}
    else:
        asked |= _selling(ask)
    if ask.trial_days:
        asked["subscription_data"]["trial_period_days"] = ask.trial_days
    if ask.order and ask.order.invoice:
        asked["invoice_creation"] = {"enabled": True, "invoice_data": {"metadata": named}}
    if ask.order and ask.order.tax is None:
        # Stripe Tax computes the tax on top of the lines once the payer has given an address. Of a known customer it
        # takes the address that they give now (docs.stripe.com/tax/checkout). The total is only held, so that it can be
        # looked at before it is charged, and the platform's fee is named then.
        known = {"customer_update": {"address": "auto"}} if ask.customer else {}
        asked |= {"automatic_tax": {"enabled": True}, **known}
        asked["payment_intent_data"]["capture_method"] = "manual"
    elif ask.mode == "pay" and account.application_fee(ask.amount):
        asked["payment_intent_data"]["application_fee_amount"] = account.application_fee(ask.amount)
    elif ask.mode == "subscribe" and account.application_fee_basis_points:
        asked["subscription_data"]["application_fee_percent"] = account.application_fee_basis_points / 100
    if ask.language in _LOCALES:
        asked["locale"] = _LOCALES[ask.language]
    if ask.customer:
        asked["customer"] = ask.customer
    return asked


def _selling(ask: Ask) -> dict[str, Any]:
    """The order's lines, or one. Dashboard settings that could change the amount are turned off."""
    lines = ask.order.all_lines if ask.order else (Line(ask.description, 1, ask.amount),)
    rhythm = {"recurring": {"interval": ask.interval}} if ask.mode == "subscribe" else {}
    taxed = {"tax_behavior": "exclusive"} if ask.order and ask.order.tax is None else {}
    return {
        "line_items": [
            {
                "price_data": {
                    "currency": ask.currency,
                    "unit_amount": line.unit_amount,
                    "product_data": {"name": line.name},
                    **rhythm,
                    **taxed,
                },
                "quantity": line.quantity,
            }
            for line in lines
        ],
        "adaptive_pricing": {"enabled": False},
        "allow_promotion_codes": False,
        "automatic_tax": {"enabled": False},
    }


def _within_window(wanted: datetime) -> datetime:
    """``wanted``, limited to what Stripe accepts: 30 minutes to 24 hours.

    A limited value is rounded to ten minutes, so that a retry soon afterwards has the same parameters: Stripe accepts a
    key only with the same parameters.
    """
    now = clock.now()
    if wanted < now + SHORTEST:
        return datetime.fromtimestamp(-(-(now + SHORTEST + _SLACK).timestamp() // _GRID) * _GRID, tz=now.tzinfo)
    if wanted > now + LONGEST - _SLACK:
        return datetime.fromtimestamp((now + LONGEST - _SLACK).timestamp() // _GRID * _GRID, tz=now.tzinfo)
    return wanted
