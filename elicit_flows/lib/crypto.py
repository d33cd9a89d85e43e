"""Sealing.

AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce; the associated data binds a sealed text to its place, so a
text copied to another row, owner or field opens nothing. ``v1.<key id>.<base64url(nonce + ciphertext)>``.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_NONCE_BYTES = 12


class SealBroken(Exception):
    """The text was not sealed for this place, by these keys, or was altered."""


class UnknownKey(SealBroken):
    """The text names a key that the ring does not have."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys by id, newest first: the first seals, all open."""

    keys: dict[str, AESGCM]

    @classmethod
    def parse(cls, text: str) -> KeyRing:
        """From ``id:base64(32 bytes),…``. Raises ValueError with one sentence that repeats no key."""
        keys: dict[str, AESGCM] = {}
        for position, part in enumerate(text.split(","), 1):
            name, _, encoded = part.strip().partition(":")
            try:
                raw = base64.b64decode(encoded, validate=True)
            except binascii.Error as error:
                raise ValueError(f"key {position} is not base64") from error
            if not _KEY_ID.fullmatch(name) or name in keys or len(raw) != 32:
                raise ValueError(f"key {position} must be a new id, a colon and base64 of 32 bytes")
            keys[name] = AESGCM(raw)
        return cls(keys)

    @property
    def newest(self) -> str:
        return next(iter(self.keys))

    def keys_only(self, key_id: str) -> KeyRing:
        """A ring of that one key."""
        return KeyRing({key_id: self.keys[key_id]})

    def seal(self, plain: bytes, place: str) -> str:
        key_id, nonce = self.newest, os.urandom(_NONCE_BYTES)
        sealed = nonce + self.keys[key_id].encrypt(nonce, plain, _bind(key_id, place))
        return f"v1.{key_id}.{base64.urlsafe_b64encode(sealed).decode()}"

    def open(self, text: str, place: str) -> bytes:
        """The plain bytes. Raises UnknownKey or SealBroken."""
        version, _, rest = text.partition(".")
        key_id, _, encoded = rest.partition(".")
        if version != "v1" or not encoded:
            raise SealBroken("not a sealed text")
        if key_id not in self.keys:
            raise UnknownKey(f"no key {key_id!r} in the ring")
        try:
            raw = base64.urlsafe_b64decode(encoded)
            return self.keys[key_id].decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _bind(key_id, place))
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise SealBroken("the seal does not fit this place") from error


def _bind(key_id: str, place: str) -> bytes:
    return f"elicit-flows/v1/{key_id}/{place}".encode()
