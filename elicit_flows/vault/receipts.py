"""The key that receipts are signed with: made when the first is asked for, its public half published for good."""

from __future__ import annotations

import json

from django.db import transaction
from joserfc import jwt
from joserfc.jwk import ECKey

from elicit_flows.lib import ids
from elicit_flows.models import ReceiptKey
from elicit_flows.values import Json, Secret
from elicit_flows.vault.seal import place, reveal, seal

ALGORITHM, CURVE = "ES256", "P-256"
TYPE = "receipt+jwt"


def sign(claims: Json) -> str:
    """A JWS in the compact form (RFC 7515, RFC 7519), by the newest key. Raises Unavailable when the seal is broken."""
    row = ReceiptKey.objects.order_by("created_at").last() or _made()
    private = reveal(row.private, key_place(row))
    key = ECKey.import_key(json.loads(private.reveal() if private else "{}"))
    return jwt.encode({"alg": ALGORITHM, "typ": TYPE, "kid": row.kid}, claims, key, algorithms=[ALGORITHM])


def public_keys() -> Json:
    """Those of every receipt there is, as a JWK Set (RFC 7517, section 5)."""
    return {"keys": [row.public for row in ReceiptKey.objects.order_by("created_at")]}


def new_key() -> str:
    """The id of a key that signs from now on. Those before it stay published."""
    return _made().kid


def key_place(row: ReceiptKey) -> str:
    return place("receiptkey", row.kid, "private")


def _made() -> ReceiptKey:
    """Two that make the first at once make two: both are published, and the newest signs."""
    kid = ids.name("rk")
    key = ECKey.generate_key(CURVE, {"use": "sig", "alg": ALGORITHM, "kid": kid}, private=True)
    row = ReceiptKey(kid=kid, public=key.as_dict(private=False))
    row.private = seal(Secret(json.dumps(key.as_dict(private=True))), key_place(row))
    with transaction.atomic():
        row.save(force_insert=True)
    return row
