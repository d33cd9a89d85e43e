"""Changing keys while the service runs: everything sealed is sealed anew under the newest key, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import models, transaction

from elicit_flows.lib.crypto import SealBroken, UnknownKey
from elicit_flows.models import (
    Agent,
    Attempt,
    Checkout,
    Connection,
    Elicitation,
    IdentityProvider,
    PaymentAccount,
    Provider,
    ReceiptKey,
    VaultKey,
)
from elicit_flows.vault import accounts, configs, connections, notes, receipts
from elicit_flows.vault.seal import place, ring

# Every sealed column, and where its text is bound to.
SEALED: list[tuple[type[models.Model], str, Callable[[Any], str]]] = [
    (Connection, "access_token", lambda row: connections.where(row, "access_token")),
    (Connection, "refresh_token", lambda row: connections.where(row, "refresh_token")),
    (Connection, "secrets", lambda row: connections.where(row, "secrets")),
    (IdentityProvider, "client_secret", configs.client_secret_place),
    (Provider, "client_secret", configs.client_secret_place),
    (Agent, "webhook_secret", lambda row: configs.webhook_place(row, "webhook_secret")),
    (Agent, "webhook_secret_previous", lambda row: configs.webhook_place(row, "webhook_secret_previous")),
    (PaymentAccount, "secret_key", lambda row: accounts.account_place(row, "secret_key")),
    (PaymentAccount, "webhook_secrets", lambda row: accounts.account_place(row, "webhook_secrets")),
    (Checkout, "url", accounts.url_place),
    (ReceiptKey, "private", receipts.key_place),
    (Elicitation, "note", notes.note_place),
    (Attempt, "stash", lambda row: place("stash", row.state_hash)),
]
_KNOWN = b"elicit-flows"


def rotate() -> Iterator[tuple[str, int]]:
    """Seal everything under the newest key; yields (table.field, rows changed). Safe to stop and run again."""
    for model, field, where in SEALED:
        old = model._default_manager.exclude(**{field: ""}).exclude(**{f"{field}__startswith": _mark(ring().newest)})
        yield f"{model._meta.model_name}.{field}", sum(_reseal(row, field, where(row)) for row in old.iterator())
    with transaction.atomic():
        VaultKey.objects.exclude(key_id__in=in_use()).delete()
        _remember(ring().newest)


def _reseal(row: models.Model, field: str, where: str) -> int:
    """Compare-and-set on the old text, so that a refresh in between wins."""
    old = getattr(row, field)
    new = ring().seal(ring().open(old, where), where)
    return type(row)._default_manager.filter(pk=row.pk, **{field: old}).update(**{field: new})


def in_use() -> set[str]:
    """The ids of the keys under which something is sealed."""
    known = set(VaultKey.objects.values_list("key_id", flat=True)) | set(ring().keys)
    return {key for key in known if any(_uses(model, field, key) for model, field, _ in SEALED)}


def _uses(model: type[models.Model], field: str, key: str) -> bool:
    return model._default_manager.filter(**{f"{field}__startswith": _mark(key)}).exists()


def verify_keys() -> None:
    """As ``check_keys``; notes a key that is new. Run at the start."""
    check_keys()
    for key in ring().keys:
        _remember(key)


def check_keys() -> None:
    """Raise ImproperlyConfigured when the ring cannot open what is stored. Writes nothing."""
    for row in VaultKey.objects.all():
        try:
            ring().open(row.sealed, place("vault_key", row.key_id))
        except UnknownKey as error:
            if row.key_id in in_use():
                raise ImproperlyConfigured(
                    f"ELICIT_VAULT_KEYS: key {row.key_id!r} is missing, but stored secrets need it. "
                    "Put it back, run `manage.py rotate`, then take it out."
                ) from error
        except SealBroken as error:
            raise ImproperlyConfigured(f"ELICIT_VAULT_KEYS: key {row.key_id!r} is not the one used before.") from error


def _remember(key: str) -> None:
    if not VaultKey.objects.filter(pk=key).exists():
        sealed = ring().keys_only(key).seal(_KNOWN, place("vault_key", key))
        VaultKey.objects.bulk_create([VaultKey(key_id=key, sealed=sealed)], ignore_conflicts=True)


def _mark(key: str) -> str:
    return f"v1.{key}."
