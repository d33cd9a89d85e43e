"""Sealing.

AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce; the associated data binds a sealed text to its place, so a
text copied to another row, owner or field opens nothing. ``v1.<key id>.<base64url(nonce + ciphertext)>``.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_NONCE_BYTES = 12
KEY_BYTES = 32

Unwrap = Callable[[str, str, str], bytes]  # of a key's id, a service's name, and what the service wrapped


class SealBroken(Exception):
    """The text was not sealed for this place, by these keys, or was altered."""


class UnknownKey(SealBroken):
    """The text names a key that the ring does not have."""


def _refuse(key: str, service: str, wrapped: str) -> bytes:
    raise ValueError(f"key {key!r} is wrapped, and nobody is here to unwrap it")


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys by id, newest first: the first seals, all open."""

    keys: dict[str, AESGCM]

    @classmethod
    def parse(cls, text: str, unwrap: Unwrap = _refuse) -> KeyRing:
        """From ``id:base64(32 bytes),…``; what has the form ``id:service:wrapped`` goes through ``unwrap``.

        Raises ValueError with one sentence that repeats no key, and what ``unwrap`` raises.
        """
        keys: dict[str, AESGCM] = {}
        for position, part in enumerate(text.split(","), 1):
            name, _, rest = part.strip().partition(":")
            if not _KEY_ID.fullmatch(name) or name in keys:
                raise ValueError(f"key {position} must begin with a new id and a colon")
            service, wrapped, found = rest.partition(":")
            raw = unwrap(name, service, found) if wrapped else _decoded(position, rest)
            if len(raw) != KEY_BYTES:
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


def is_id(name: str) -> bool:
    return _KEY_ID.fullmatch(name) is not None


def _decoded(position: int, encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError(f"key {position} is not base64") from error


def _bind(key_id: str, place: str) -> bytes:
    return f"elicit-flows/v1/{key_id}/{place}".encode()
