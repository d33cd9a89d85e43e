"""A passkey without a browser: the answers of a device and its browser. Each part of them can be changed."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import base64url_to_bytes
from webauthn.helpers import bytes_to_base64url as b64

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class Authenticator:
    """One passkey. ``origin``, ``host``, ``flags``, ``count`` are what it says of itself."""

    def __init__(self, origin: str, host: str = "localhost") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = secrets.token_bytes(32)
        self.origin, self.host, self.flags, self.count = origin, host, PRESENT | VERIFIED, 0
        self.handle = b""

    def create(self, options: str) -> str:
        """Answers navigator.credentials.create()."""
        asked = json.loads(options)
        self.handle = base64url_to_bytes(asked["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + cbor2.dumps(public)
        data = self._data(self.flags | ATTESTED) + attested
        statement = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", asked["challenge"])
        return self._answer({"clientDataJSON": b64(client), "attestationObject": b64(statement)})

    def get(self, options: str, **changes: Any) -> str:
        """Answers navigator.credentials.get()."""
        client = self._client("webauthn.get", json.loads(options)["challenge"])
        data = self._data(self.flags)
        proof = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        said = {"clientDataJSON": client, "authenticatorData": data, "signature": proof, "userHandle": self.handle}
        return self._answer({name: b64(changes.get(name, value)) for name, value in said.items()})

    def _data(self, flags: int) -> bytes:
        return hashlib.sha256(self.host.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(said).encode()

    def _answer(self, response: dict[str, str]) -> str:
        named = {"id": b64(self.id), "rawId": b64(self.id), "type": "public-key", "clientExtensionResults": {}}
        return json.dumps({**named, "response": response})
