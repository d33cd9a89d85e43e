"""The two forms of an event, and the header that signs them (docs.stripe.com/webhooks)."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from datetime import UTC, datetime

from sandbox.stripe.store import Thing

# The addresses of the objects that an event can be about.
PATHS = {
    "checkout.session": "/v1/checkout/sessions",
    "payment_intent": "/v1/payment_intents",
    "charge": "/v1/charges",
    "refund": "/v1/refunds",
    "dispute": "/v1/disputes",
    "subscription": "/v1/subscriptions",
    "invoice": "/v1/invoices",
    "customer": "/v1/customers",
    "setup_intent": "/v1/setup_intents",
}


def payload(event: Thing, form: str) -> bytes:
    said = event if form == "snapshot" else thin(event)
    return json.dumps(said, indent=2, ensure_ascii=False).encode()


def thin(event: Thing) -> Thing:
    """The notification without the object, only with its address."""
    about, request = event["data"]["object"], event["request"]
    because = {"type": "request", "request": {"id": request["id"], "idempotency_key": request["idempotency_key"] or ""}}
    return {
        "id": f"{event['id']}_thin",
        "object": "v2.core.event",
        "type": f"v1.{event['type']}",
        "livemode": event["livemode"],
        "created": datetime.fromtimestamp(event["created"], UTC).isoformat().replace("+00:00", ".000Z"),
        "context": event.get("account"),
        "reason": because if request["id"] else None,
        "related_object": {
            "id": about["id"],
            "type": about["object"],
            "url": f"{PATHS[about['object']]}/{about['id']}",
        },
        "snapshot_event": event["id"],
    }


def header(body: bytes, secrets: Iterable[str], timestamp: int) -> str:
    """``Stripe-Signature``: the time, and a ``v1`` for each secret (there are two while one is being replaced)."""
    signed = f"{timestamp}.".encode() + body
    marks = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={timestamp}", *(f"v1={mark}" for mark in marks)])
