"""Making ourselves known to an authorization server that has not heard of us (RFC 7591)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from elicit_flows.lib import http
from elicit_flows.lib.oauth import replies
from elicit_flows.lib.oauth.errors import ProviderError, Transient

DEADLINE = 10.0
METHODS = frozenset({"client_secret_basic", "client_secret_post", "none"})


@dataclass(frozen=True)
class Registered:
    """Who we are from now on. ``auth`` is what the server settled on, which may be another than was asked for."""

    client_id: str
    secret: str | None = field(repr=False)
    auth: str


def register(endpoint: str, metadata: dict[str, Any], *, deadline: float = DEADLINE) -> Registered:
    """Registers a client of this ``metadata`` (section 2). Each call makes another. Raises ProviderError, Transient."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    try:
        reply = http.send("POST", endpoint, headers=headers, body=json.dumps(metadata).encode(), deadline=deadline)
    except http.Refused as refusal:
        raise ProviderError("not_allowed", f"The provider's endpoint is refused: {refusal}") from None
    except http.Unreachable as failure:
        raise Transient("The provider does not answer.", sent=failure.sent) from None
    return _read(replies.checked(reply) or {}, str(metadata["token_endpoint_auth_method"]))


def _read(body: dict[str, Any], asked: str) -> Registered:
    client_id, secret = body.get("client_id"), body.get("client_secret")
    auth = body.get("token_endpoint_auth_method", asked)
    if not _is_text(client_id, 500) or not (secret is None or _is_text(secret, 16384)) or auth not in METHODS:
        raise ProviderError("bad_response", "The provider's answer cannot be used.")
    if auth != "none" and secret is None:
        raise ProviderError("bad_response", "The provider registered us without a secret, and wants one.")
    return Registered(str(client_id), None if auth == "none" else secret, auth)


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()
