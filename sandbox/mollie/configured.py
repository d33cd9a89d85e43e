"""The double for demo.toml: a profile for each payment account that points at the sandbox's Mollie."""

from __future__ import annotations

import tomllib

from sandbox.mollie.double import Double
from sandbox.settings import DEMO, SANDBOX_URL, Settings

PATH = "/mollie"
USUAL_KEY = "test_development_only_sandbox"  # used if demo.toml has no such account


def configured(settings: Settings) -> Double:
    """Its webhooks go where each payment says."""
    rows = tomllib.loads(DEMO.read_text(encoding="utf-8")).get("payment_account", [])
    mine = [row for row in rows if row["provider"] == "mollie" and row.get("api_base") == f"{SANDBOX_URL}{PATH}"]
    profiles = {row["secret_key"]: f"pfl_{row['slug']}" for row in mine} or {USUAL_KEY: "pfl_sandbox"}
    return Double(f"{settings.root}{PATH}", profiles)
