"""The vault's keys: which exist, what is still sealed with each, and whether they open what is stored."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from elicit_flows.domain.errors import Conflict, NotFound, Unavailable
from elicit_flows.lib import kms
from elicit_flows.models import VaultKey
from elicit_flows.vault.rotation import SEALED, name_of, under
from elicit_flows.vault.seal import KEY_BYTES, KeyRing, SealBroken, UnknownKey, is_id, place, ring, unwrap

_KNOWN = b"elicit-flows"


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A key of the ring, or a key that stored texts name. ``texts`` counts the sealed texts by table and field."""

    key: str
    in_ring: bool
    newest: bool
    texts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.texts.values())

    @property
    def spare(self) -> bool:
        """Whether it may be removed from ELICIT_VAULT_KEYS."""
        return not self.newest and not self.total


def key_uses() -> list[KeyUse]:
    """The ring's keys, newest first, then keys that were used before. Counts every sealed text, which is slow on large
    tables.
    """
    return [_use(key) for key in dict.fromkeys([*ring().keys, *_known()])]


def retire(key: str) -> None:
    """Forget a key, so that the service starts without it. Raises NotFound, and Conflict while it is in use."""
    if key not in {*ring().keys, *_known()}:
        raise NotFound(f"There is no key {key!r}.")
    use = _use(key)
    if use.newest:
        raise Conflict(f"Key {key!r} is the newest: all new texts are encrypted with it. Put a new key first.")
    if use.total:
        raise Conflict(f"Key {key!r} still encrypts {use.total:,} texts. Run `manage.py rotate` first.")
    VaultKey.objects.filter(pk=key).delete()


def new_entry(key: str, service: str | None = None, name: str = "") -> str:
    """A new entry for ELICIT_VAULT_KEYS: the key itself, or the key wrapped by ``service`` with its key ``name``.

    Raises Conflict, and Unavailable if the service does not wrap the key or does not unwrap it again.
    """
    if not is_id(key) or key in ring().keys:
        raise Conflict(f"{key!r} is no new id: up to 32 letters, digits, - and _ that no key has.")
    if service is None:
        return f"{key}:{base64.b64encode(os.urandom(KEY_BYTES)).decode()}"
    try:
        wrapped = kms.new(service, name, settings.ELICIT_KMS.get(service, {}))
        KeyRing.parse(f"{key}:{service}:{wrapped}", unwrap)
    except (kms.KmsError, ValueError) as error:
        raise Unavailable(f"{error}.") from error
    return f"{key}:{service}:{wrapped}"


def verify_keys() -> None:
    """``check_keys``, which also records new keys and forgets removed ones. Called at the start."""
    check_keys()
    for key in ring().keys:
        remember(key)
    VaultKey.objects.exclude(key_id__in=ring().keys).delete()


def check_keys() -> None:
    """Raise ImproperlyConfigured if the ring cannot open what is stored. Writes nothing."""
    for row in VaultKey.objects.all():
        try:
            ring().open(row.sealed, place("vault_key", row.key_id))
        except UnknownKey as error:
            if in_use(row.key_id):
                raise ImproperlyConfigured(
                    f"ELICIT_VAULT_KEYS: key {row.key_id!r} is missing, but stored secrets need it. "
                    "Put it back, run `manage.py rotate`, then take it out."
                ) from error
        except SealBroken as error:
            raise ImproperlyConfigured(f"ELICIT_VAULT_KEYS: key {row.key_id!r} is not the one used before.") from error


def in_use(key: str) -> bool:
    """Whether anything is sealed with this key."""
    return any(under(model, field, key).exists() for model, field, _ in SEALED)


def remember(key: str) -> None:
    if not VaultKey.objects.filter(pk=key).exists():
        sealed = ring().keys_only(key).seal(_KNOWN, place("vault_key", key))
        VaultKey.objects.bulk_create([VaultKey(key_id=key, sealed=sealed)], ignore_conflicts=True)


def _known() -> list[str]:
    return list(VaultKey.objects.order_by("pk").values_list("pk", flat=True))


def _use(key: str) -> KeyUse:
    counted = {name_of(model, field): under(model, field, key).count() for model, field, _ in SEALED}
    texts = {name: count for name, count in counted.items() if count}
    return KeyUse(key, in_ring=key in ring().keys, newest=key == ring().newest, texts=texts)
