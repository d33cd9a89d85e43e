"""The double for demo.toml: an app for each payment account that points at the sandbox's PayPal."""

from __future__ import annotations

import tomllib
from typing import Any

from sandbox.paypal.double import App, Double
from sandbox.settings import DEMO, SANDBOX_URL, Settings

PATH = "/paypal"
USUAL = {  # used if demo.toml has no such account
    "slug": "paypal",
    "client_id": "client-of-the-sandbox",
    "secret_key": "development-only-paypal-secret",
    "webhook_secrets": ["WEBHOOKOFTHESANDBOX"],
}


def configured(settings: Settings) -> Double:
    """Events go to the service's webhook address for the account."""
    rows = tomllib.loads(DEMO.read_text(encoding="utf-8")).get("payment_account", [])
    mine = [row for row in rows if row["provider"] == "paypal" and row.get("api_base") == f"{SANDBOX_URL}{PATH}"]
    return Double(f"{settings.root}{PATH}", [app(settings, row) for row in mine or [USUAL]])


def app(settings: Settings, row: dict[str, Any]) -> App:
    listener = f"{settings.service_url}/inbound/{row['slug']}"
    return App(
        row["client_id"], row["secret_key"], f"MERCHANT{row['slug'].upper()}", row["webhook_secrets"][0], listener
    )
