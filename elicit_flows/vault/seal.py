"""Sealing: encrypting a secret so that it can only be opened with a key of the ring, and only at its place.

AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce. The associated data names the place, so a text that was copied
to another row, owner or field cannot be opened. A sealed text reads ``v1.<key id>.<base64url(nonce + ciphertext)>``.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Json, Secret
from elicit_flows.lib import kms

_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_NONCE_BYTES = 12
_BOUND = "elicit-flows/v1/{}/{}"  # what a text is bound to: the key and the place
KEY_BYTES = 32

Unwrap = Callable[[str, str, str], bytes]  # arguments: the key's id, the service's name, the wrapped key


class SealBroken(Exception):
    """The text was altered, or was not sealed for this place with these keys."""


class UnknownKey(SealBroken):
    """The text names a key that is not in the ring."""


def _refuse(key: str, service: str, wrapped: str) -> bytes:
    raise ValueError(f"key {key!r} is wrapped, and nobody is here to unwrap it")


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys by id, newest first. The first one seals, and each of them opens."""

    keys: dict[str, AESGCM]

    @classmethod
    def parse(cls, text: str, unwrap: Unwrap = _refuse) -> KeyRing:
        """Parse ``id:base64(32 bytes),…``. An entry of the form ``id:service:wrapped`` is passed to ``unwrap``.

        Raises ValueError with a sentence that contains no key, and whatever ``unwrap`` raises.
        """
        keys: dict[str, AESGCM] = {}
        for position, part in enumerate(text.split(","), 1):
            name, _, rest = part.strip().partition(":")
            if not _KEY_ID.fullmatch(name) or name in keys:
                raise ValueError(f"key {position} must begin with a new id and a colon")
            service, wrapped, found = rest.partition(":")
            try:
                raw = unwrap(name, service, found) if wrapped else base64.b64decode(rest, validate=True)
            except binascii.Error as error:
                raise ValueError(f"key {position} is not base64") from error
            if len(raw) != KEY_BYTES:
                raise ValueError(f"key {position} must be a new id, a colon and base64 of 32 bytes")
            keys[name] = AESGCM(raw)
        return cls(keys)

    @property
    def newest(self) -> str:
        return next(iter(self.keys))

    def keys_only(self, key_id: str) -> KeyRing:
        """A ring that has just this key."""
        return KeyRing({key_id: self.keys[key_id]})

    def seal(self, plain: bytes, place: str) -> str:
        key_id, nonce = self.newest, os.urandom(_NONCE_BYTES)
        sealed = nonce + self.keys[key_id].encrypt(nonce, plain, _BOUND.format(key_id, place).encode())
        return f"v1.{key_id}.{base64.urlsafe_b64encode(sealed).decode()}"

    def open(self, text: str, place: str) -> bytes:
        """The decrypted bytes. Raises UnknownKey or SealBroken."""
        version, _, rest = text.partition(".")
        key_id, _, encoded = rest.partition(".")
        if version != "v1" or not encoded:
            raise SealBroken("not a sealed text")
        if key_id not in self.keys:
            raise UnknownKey(f"no key {key_id!r} in the ring")
        try:
            raw, bound = base64.urlsafe_b64decode(encoded), _BOUND.format(key_id, place).encode()
            return self.keys[key_id].decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], bound)
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise SealBroken("the seal does not fit this place") from error


def is_id(name: str) -> bool:
    return _KEY_ID.fullmatch(name) is not None


log = logging.getLogger(__name__)


def ring() -> KeyRing:
    """The keys of ``ELICIT_VAULT_KEYS``. Each process asks the key management service once for each wrapped key."""
    return _parsed(settings.ELICIT_VAULT_KEYS)


@lru_cache(maxsize=4)
def _parsed(keys: str) -> KeyRing:
    try:
        return KeyRing.parse(keys, unwrap)
    except ValueError as error:
        raise ImproperlyConfigured(f"ELICIT_VAULT_KEYS: {error}.") from error


def unwrap(key: str, service: str, wrapped: str) -> bytes:
    """Ask the key management service to unwrap a key. Raises ValueError, which names the key and the reason."""
    try:
        return kms.unwrap(service, wrapped, settings.ELICIT_KMS.get(service, {}))
    except kms.KmsError as error:
        raise ValueError(f"key {key!r} cannot be unwrapped: {error}") from error


def place(table: str, row: str, *owner: str) -> str:
    """The place that a text is bound to: table, row, owner, field. JSON, so that two different lists never give the
    same string.
    """
    return json.dumps([table, row, *owner], ensure_ascii=True)


def seal(secret: Secret | None, place: str) -> str:
    """Seal ``secret`` for ``place``. An absent secret is the empty string."""
    return ring().seal(secret.reveal().encode(), place) if secret else ""


def reveal(text: str, place: str) -> Secret | None:
    """Open a text that was sealed for ``place``. If it does not open, log an error and raise Unavailable."""
    if not text:
        return None
    try:
        return Secret(ring().open(text, place).decode())
    except SealBroken as error:
        log.critical("vault: a sealed text does not open at %s: %s", place, error)
        raise Unavailable("A stored secret cannot be opened. The operator has been told.") from error


def seal_stash(stash: Json, state_hash: str) -> str:
    """Seal what the callback needs to know of the request that sent the user to the provider, bound to its single-use
    state.
    """
    return seal(Secret(json.dumps(stash)), place("stash", state_hash))


def open_stash(text: str, state_hash: str) -> Json:
    secret = reveal(text, place("stash", state_hash))
    stash: Json = json.loads(secret.reveal()) if secret else {}
    return stash
