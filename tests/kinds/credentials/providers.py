"""Credentials providers for tests, and visits to the page that asks for their keys."""

from __future__ import annotations

from typing import Any

from elicit_flows import kinds
from elicit_flows.domain.values import Claim, Json, Visit
from elicit_flows.kinds.credentials import fields
from elicit_flows.kinds.credentials.config import CredentialsProvider, Verify

KEY = {"name": "api_key", "label": "API key", "pattern": "^key_", "example": "key_…"}
ACCOUNT = {"name": "account", "label": "Account", "secret": False}
PASSWORD = {"name": "password", "label": "Password"}


def by_header(url: str, *asked: Json, **more: Any) -> CredentialsProvider:
    """Its key stands in a header."""
    return made(asked or (KEY,), {"url": url, "headers": {"X-Key": "{api_key}"}, **more})


def by_password(url: str, **more: Any) -> CredentialsProvider:
    """A user name, which stands in the URL as well, and a password."""
    return made((ACCOUNT, PASSWORD), {"url": url, "basic": ["account", "password"], **more})


def made(asked: tuple[Json, ...], verify: Json | None = None) -> CredentialsProvider:
    complete = tuple(fields.complete(field, fields.OPERATORS) for field in asked)
    return CredentialsProvider(
        "keys", "Key House", complete, "https://keys.example.com/new", Verify.of(verify) if verify else None
    )


def visit(config: CredentialsProvider | None, **more: Json) -> Visit:
    params = kinds.get("credentials").clean({"provider": "keys", **more})
    return Visit("el_1", Claim("https://idp.test", "alice"), params, config, "http://127.0.0.1/callback/keys")
