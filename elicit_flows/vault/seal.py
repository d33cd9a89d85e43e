"""The key ring, and the place that each sealed text is bound to."""

from __future__ import annotations

import json
import logging
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from elicit_flows.errors import Unavailable
from elicit_flows.lib import kms
from elicit_flows.lib.crypto import KeyRing, SealBroken
from elicit_flows.values import Json, Secret

log = logging.getLogger(__name__)


def ring() -> KeyRing:
    """The keys of ``ELICIT_VAULT_KEYS``. A process asks a key management service once for each that is wrapped."""
    return _parsed(settings.ELICIT_VAULT_KEYS)


@lru_cache(maxsize=4)
def _parsed(keys: str) -> KeyRing:
    try:
        return KeyRing.parse(keys, unwrap)
    except ValueError as error:
        raise ImproperlyConfigured(f"ELICIT_VAULT_KEYS: {error}.") from error


def unwrap(key: str, service: str, wrapped: str) -> bytes:
    """Raises ValueError, which names the key and says why."""
    try:
        return kms.unwrap(service, wrapped, settings.ELICIT_KMS.get(service, {}))
    except kms.KmsError as error:
        raise ValueError(f"key {key!r} cannot be unwrapped: {error}") from error


def place(table: str, row: str, *owner: str) -> str:
    """Where a text belongs: table, row, owner, field. JSON, so that no two lists make the same string."""
    return json.dumps([table, row, *owner], ensure_ascii=True)


def seal(secret: Secret | None, place: str) -> str:
    """Sealed for ``place``; an absent secret is the empty string."""
    return ring().seal(secret.reveal().encode(), place) if secret else ""


def reveal(text: str, place: str) -> Secret | None:
    """The secret sealed for ``place``. Raises Unavailable, and says so loudly, when the seal does not fit."""
    if not text:
        return None
    try:
        return Secret(ring().open(text, place).decode())
    except SealBroken as error:
        log.critical("vault: a sealed text does not open at %s: %s", place, error)
        raise Unavailable("A stored secret cannot be opened. The operator has been told.") from error


def seal_stash(stash: Json, state_hash: str) -> str:
    """What a user's way out and back needs to remember, bound to its single-use state."""
    return seal(Secret(json.dumps(stash)), place("stash", state_hash))


def open_stash(text: str, state_hash: str) -> Json:
    secret = reveal(text, place("stash", state_hash))
    stash: Json = json.loads(secret.reveal()) if secret else {}
    return stash
