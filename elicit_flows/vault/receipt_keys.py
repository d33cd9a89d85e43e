"""The key that signs receipts and exports. It is made when it is first needed, and its public half stays published."""

from __future__ import annotations

import json

from django.db import transaction
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet

from elicit_flows.domain.values import Json, Secret
from elicit_flows.lib import ids
from elicit_flows.models import ReceiptKey
from elicit_flows.vault.seal import place, reveal, seal

ALGORITHM, CURVE = "ES256", "P-256"
TYPE = "receipt+jwt"
# Different types, so that one is not accepted as another.
EXPORT_TYPE = "export+jwt"
MANDATE_TYPE = "mandate+jwt"


class NotSigned(ValueError):
    """A signature is not valid; ``str()`` says why, in a sentence."""


def sign(claims: Json, type_: str = TYPE) -> str:
    """Sign with the newest key: a JWS in compact form (RFC 7515, RFC 7519). Raises Unavailable if the key cannot be
    opened.
    """
    row = ReceiptKey.objects.order_by("created_at").last() or _made()
    private = reveal(row.private, key_place(row))
    key = ECKey.import_key(json.loads(private.reveal() if private else "{}"))
    return jwt.encode({"alg": ALGORITHM, "typ": type_, "kid": row.kid}, claims, key, algorithms=[ALGORITHM])


def verify_export(signature: str, keys: Json) -> Json:
    """The claims of the signature of an export, if one of ``keys`` (a JWK Set) made it. Raises NotSigned."""
    try:
        token = jwt.decode(signature, KeySet.import_key_set(keys), algorithms=[ALGORITHM])  # type: ignore[arg-type]
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise NotSigned("The signature is not by one of these keys.") from error
    if token.header.get("typ") != EXPORT_TYPE:
        raise NotSigned("This is not the signature of an export.")
    return token.claims


def public_keys() -> Json:
    """The public keys of all receipts and exports, as a JWK Set (RFC 7517, section 5)."""
    return {"keys": [row.public for row in ReceiptKey.objects.order_by("created_at")]}


def new_key() -> str:
    """Make a new key that signs from now on, and return its id. Earlier keys stay published."""
    return _made().kid


def key_place(row: ReceiptKey) -> str:
    return place("receiptkey", row.kid, "private")


def _made() -> ReceiptKey:
    """The newest key, made if there is none. If two processes make the first at once, both keys are published and the
    newest signs.
    """
    kid = ids.name("rk")
    key = ECKey.generate_key(CURVE, {"use": "sig", "alg": ALGORITHM, "kid": kid}, private=True)
    row = ReceiptKey(kid=kid, public=key.as_dict(private=False))
    row.private = seal(Secret(json.dumps(key.as_dict(private=True))), key_place(row))
    with transaction.atomic():
        row.save(force_insert=True)
    return row
