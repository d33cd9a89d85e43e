"""A key for ``requestState`` that all processes of a server have: without one, each understands only its own."""

from __future__ import annotations

import hashlib
import hmac

from elicit_flows.sdk import environment

_PURPOSE = b"elicit_flows.sdk.mcp requestState"


def state_key(api_key: str | None = None) -> bytes:
    """32 bytes for ``RequestStateSecurity(keys=[…])``, derived from the API key (ELICIT_API_KEY by default)."""
    return hmac.digest(environment.api_key(api_key).encode(), _PURPOSE, hashlib.sha256)
