"""The double for demo.toml: an account for each payment account that points at the sandbox."""

from __future__ import annotations

import tomllib
from typing import Any

from sandbox.settings import DEMO, SANDBOX_URL, Settings
from sandbox.stripe.double import Double
from sandbox.stripe.endpoints import Endpoint
from sandbox.stripe.store import Account

USUAL = {
    "slug": "sandbox",
    "provider": "stripe",
    "secret_key": "sk_test_development_only_sandbox",
    "webhook_secrets": ["whsec_development_only_sandbox"],
    "api_base": SANDBOX_URL,
}
CONNECTED = "acct_sandbox_connected"


def configured(settings: Settings) -> Double:
    """Events go to the service's webhook address for the account. There is one connected account in addition."""
    rows = stripe_rows()
    accounts = [Account(f"acct_{row['slug']}", "Demo Agent's shop", row["secret_key"]) for row in rows]
    endpoints = [
        Endpoint(inbound(settings, row["slug"]), tuple(row["webhook_secrets"]), f"acct_{row['slug']}") for row in rows
    ]
    connected = Account(CONNECTED, "A connected shop", platform=accounts[0].id)
    return Double(settings.root, [*accounts, connected], endpoints)


def stripe_rows() -> list[dict[str, Any]]:
    rows = tomllib.loads(DEMO.read_text(encoding="utf-8")).get("payment_account", [])
    found = [row for row in rows if row["provider"] == "stripe" and row.get("api_base") == SANDBOX_URL]
    return found or [USUAL]


def inbound(settings: Settings, slug: str) -> str:
    return f"{settings.service_url}/inbound/{slug}"
