"""Web push: encrypts a message for one browser (RFC 8291, with the coding of RFC 8188), and says who sends it (VAPID,
RFC 8292). There is a library for the former, but no wheel of it, and an installation takes wheels only.
"""

from __future__ import annotations

import base64
import json
import os
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import ECKey

ALGORITHM = "ES256"
LIFE = 12 * 3600  # seconds for which a VAPID token is good; at most a day (RFC 8292, section 2)
RECORD = 4096  # bytes, header and tag included: every push service takes as many (RFC 8030, section 7.2)
MAX_TEXT = RECORD - 86 - 17
_POINT, _SECRET = 65, 16  # lengths in bytes


class BadSubscription(Exception):
    """The keys are not those of a browser's subscription."""


def new_key() -> str:
    """A fresh private key to sign with, as a JWK in JSON."""
    return json.dumps(ECKey.generate_key("P-256").as_dict(private=True))


def public_key(key: str) -> str:
    """What ``pushManager.subscribe`` takes as ``applicationServerKey``: the point in base64url."""
    jwk = json.loads(key)
    return encoded(b"\x04" + decoded(jwk["x"]) + decoded(jwk["y"]))


def authorization(key: str, endpoint: str, contact: str, now: float) -> str:
    """The value of the header Authorization (RFC 8292, section 3). ``contact``: an https or mailto address at which the
    push service finds who sends. ``now``: seconds since 1970.
    """
    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int(now) + LIFE, "sub": contact}
    private = ECKey.import_key(json.loads(key))
    token = jwt.encode({"typ": "JWT", "alg": ALGORITHM}, claims, private, algorithms=[ALGORITHM])
    return f"vapid t={token}, k={public_key(key)}"


def check(p256dh: str, auth: str) -> None:
    """Raises BadSubscription."""
    _keys(p256dh, auth)


def encrypt(
    text: bytes, p256dh: str, auth: str, *, salt: bytes = b"", private: ec.EllipticCurvePrivateKey | None = None
) -> bytes:
    """The body of the request: ``text`` (at most MAX_TEXT bytes) for the browser with these keys, in base64url.

    ``salt`` and ``private`` are fresh unless given. Raises BadSubscription, and ValueError for a text that is too long.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"a message has at most {MAX_TEXT} bytes")
    theirs, secret = _keys(p256dh, auth)
    salt, private = salt or os.urandom(16), private or ec.generate_private_key(ec.SECP256R1())
    points = [key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint) for key in (theirs, private.public_key())]
    shared = private.exchange(ec.ECDH(), theirs)
    material = _derived(secret, shared, b"WebPush: info\0" + b"".join(points), 32)
    key = _derived(salt, material, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, material, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD.to_bytes(4, "big") + bytes([_POINT]) + points[1]
    return head + AESGCM(key).encrypt(nonce, text + b"\x02", None)  # 2: the last record


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _keys(p256dh: str, auth: str) -> tuple[ec.EllipticCurvePublicKey, bytes]:
    try:
        point, secret = decoded(p256dh), decoded(auth)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise BadSubscription from None
    if len(point) != _POINT or len(secret) != _SECRET:
        raise BadSubscription
    return key, secret


def _derived(salt: bytes, material: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(material)
