"""The catalogue: providers whose keys people hand over. Data only; any field may be overridden.

``source_url`` is where the provider says so. A pattern stands here only where the provider documents the form, and
catches the wrong sort of key before anybody is asked; an example is cut short, so that it is nobody's key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elicit_flows.kinds.credentials import fields
from elicit_flows.values import Json


@dataclass(frozen=True, slots=True)
class Preset:
    """What is the same for everybody, under the names of the configuration."""

    name: str
    source_url: str
    find_url: str
    asked: tuple[Json, ...]
    verify: Json

    def fields(self) -> dict[str, Any]:
        """What it says about a provider, under the names of the configuration."""
        asked = [fields.complete(field, fields.OPERATORS) for field in self.asked]
        return {"name": self.name, "fields": asked, "find_url": self.find_url, "verify": self.verify}


PRESETS = {
    "openai": Preset(
        name="OpenAI",
        source_url="https://platform.openai.com/docs/api-reference/authentication",
        find_url="https://platform.openai.com/api-keys",
        asked=(
            {
                "name": "api_key",
                "label": "API key",
                "help": "A restricted key must be allowed to read the list of models.",
                "pattern": "^sk-",
                "example": "sk-…",
            },
        ),
        verify={"url": "https://api.openai.com/v1/models", "headers": {"authorization": "Bearer {api_key}"}},
    ),
    "anthropic": Preset(
        name="Anthropic",
        source_url="https://platform.claude.com/docs/en/api/models-list",
        find_url="https://console.anthropic.com/settings/keys",
        asked=({"name": "api_key", "label": "API key", "pattern": "^sk-ant-", "example": "sk-ant-…"},),
        verify={
            "url": "https://api.anthropic.com/v1/models?limit=1",
            "headers": {"x-api-key": "{api_key}", "anthropic-version": "2023-06-01"},
        },
    ),
    # A restricted key that may not read the balance is answered 403, which a key that is none is not.
    "stripe": Preset(
        name="Stripe",
        source_url="https://docs.stripe.com/keys",
        find_url="https://dashboard.stripe.com/apikeys",
        asked=(
            {
                "name": "secret_key",
                "label": "Secret or restricted key",
                "help": "A restricted key can do only what you allow it. A publishable key is not what is asked for.",
                "pattern": "^(sk|rk)_",
                "example": "rk_live_…",
            },
        ),
        verify={
            "url": "https://api.stripe.com/v1/balance",
            "headers": {"authorization": "Bearer {secret_key}"},
            "accepted": [403],
        },
    ),
    # Answers what the key may do, whatever that is. Keys of the EU region are known at api.eu.sendgrid.com alone.
    "sendgrid": Preset(
        name="SendGrid",
        source_url="https://www.twilio.com/docs/sendgrid/api-reference/api-key-permissions",
        find_url="https://app.sendgrid.com/settings/api_keys",
        asked=({"name": "api_key", "label": "API key", "help": "It has 69 characters.", "pattern": "^SG\\."},),
        verify={"url": "https://api.sendgrid.com/v3/scopes", "headers": {"authorization": "Bearer {api_key}"}},
    ),
    "twilio": Preset(
        name="Twilio",
        source_url="https://www.twilio.com/docs/iam/api/account",
        find_url="https://console.twilio.com/",
        asked=(
            {
                "name": "account_sid",
                "label": "Account SID",
                "secret": False,
                "pattern": "^AC[0-9a-fA-F]{32}$",
                "example": "AC…",
            },
            {"name": "auth_token", "label": "Auth token"},
        ),
        verify={
            "url": "https://api.twilio.com/2010-04-01/Accounts/{account_sid}.json",
            "basic": ["account_sid", "auth_token"],
        },
    ),
    # Other sites of Datadog than US1 have other hosts: override verify and find_url.
    "datadog": Preset(
        name="Datadog",
        source_url="https://docs.datadoghq.com/api/latest/authentication/",
        find_url="https://app.datadoghq.com/organization-settings/api-keys",
        asked=({"name": "api_key", "label": "API key", "help": "The API key itself, not its ID."},),
        verify={"url": "https://api.datadoghq.com/api/v1/validate", "headers": {"dd-api-key": "{api_key}"}},
    ),
}
