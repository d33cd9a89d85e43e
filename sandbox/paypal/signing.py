"""The headers that sign a webhook (developer.paypal.com/api/rest/webhooks/rest), with the double's own certificate."""

from __future__ import annotations

import base64
import secrets
import zlib
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

OWNER = "messageverificationcerts.paypal.com"
PATH = "/v1/notifications/certs"


class Signer:
    """``root``: the address under which the double is served. ``owner``: whom the certificate names."""

    def __init__(self, root: str, owner: str = OWNER) -> None:
        self.key: RSAPrivateKey = generate_private_key(public_exponent=65537, key_size=2048)
        self.id = f"CERT-{secrets.token_hex(4)}-{secrets.token_hex(4)}"
        self.url = f"{root}{PATH}/{self.id}"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, owner)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=30))
            .sign(self.key, SHA256())
        )
        self.pem = certificate.public_bytes(Encoding.PEM)

    def headers(self, webhook: str, body: bytes, at: datetime) -> dict[str, str]:
        """``webhook``: the id of the subscription that the event is sent to."""
        transmission, time = str(uuid4()), at.strftime("%Y-%m-%dT%H:%M:%SZ")
        said = f"{transmission}|{time}|{webhook}|{zlib.crc32(body)}".encode()
        return {
            "content-type": "application/json",
            "paypal-auth-algo": "SHA256withRSA",
            "paypal-cert-url": self.url,
            "paypal-transmission-id": transmission,
            "paypal-transmission-sig": base64.b64encode(self.key.sign(said, PKCS1v15(), SHA256())).decode(),
            "paypal-transmission-time": time,
        }
