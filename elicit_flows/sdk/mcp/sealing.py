"""A key for ``requestState`` that all processes of a server share, so that each can read the state of the others."""

from __future__ import annotations

import hashlib
import hmac

from elicit_flows.sdk import environment

_PURPOSE = b"elicit_flows.sdk.mcp requestState"


def state_key(api_key: str | None = None) -> bytes:
    """Return 32 bytes for ``RequestStateSecurity(keys=[…])``, derived from the API key (default: ELICIT_API_KEY).

    Raises ElicitError ``no_api_key``.
    """
    return hmac.digest(environment.api_key(api_key).encode(), _PURPOSE, hashlib.sha256)
