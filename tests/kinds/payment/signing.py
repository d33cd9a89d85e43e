"""Webhooks as Stripe signs them, by hand: over the raw bytes, whatever they are."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account

SECRET = "whsec_of_this_account"
NOW = datetime(2026, 11, 21, 7, 0, tzinfo=UTC)
STAMP = int(NOW.timestamp())


def account(*secrets: str) -> Account:
    return Account("main", "stripe", Secret("sk_test_1"), tuple(Secret(one) for one in secrets))


def mac(body: bytes, secret: str, stamp: object) -> str:
    return hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()


def signed(body: bytes, *secrets: str, stamp: object = STAMP, scheme: str = "v1") -> str:
    """The Stripe-Signature header of a webhook made at ``stamp``."""
    return ",".join([f"t={stamp}", *(f"{scheme}={mac(body, secret, stamp)}" for secret in secrets)])


def event(kind: str, about: Any, **changes: Any) -> dict[str, Any]:
    """A snapshot event."""
    return {
        "id": "evt_1",
        "object": "event",
        "api_version": "2026-10-28.endive",
        "created": 1_790_000_000,
        "data": {"object": about},
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": kind,
    } | changes


def thin(kind: str, type: str, id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": "evt_thin_1",
        "object": "v2.core.event",
        "created": "2026-11-21T07:00:00.000Z",
        "livemode": False,
        "type": kind,
        "related_object": {"id": id, "type": type, "url": f"/v1/things/{id}"},
    } | changes


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


COMPLETED = event(
    "checkout.session.completed",
    {"object": "checkout.session", "id": "cs_test_1", "payment_intent": "pi_1", "payment_status": "paid"},
)
