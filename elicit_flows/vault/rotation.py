"""Changing keys while the service runs: everything sealed is sealed anew under the newest key, row by row.

Each row is written by itself, over the text that was read: nobody waits for a rotation, a refresh in between wins.
The texts name their keys: a rotation that was stopped or killed goes on where it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import models

from elicit_flows.lib.crypto import SealBroken
from elicit_flows.models import (
    Agent,
    Attempt,
    Checkout,
    Connection,
    Elicitation,
    HeldGrant,
    IdentityProvider,
    Operator,
    PaymentAccount,
    Provider,
    ReceiptKey,
    Registration,
)
from elicit_flows.vault import accounts, configs, connections, held_grants, notes, operators, receipts
from elicit_flows.vault.seal import place, ring

# Every sealed column, and where its text is bound to.
SEALED: list[tuple[type[models.Model], str, Callable[[Any], str]]] = [
    (Connection, "access_token", lambda row: connections.where(row, "access_token")),
    (Connection, "refresh_token", lambda row: connections.where(row, "refresh_token")),
    (Connection, "dpop_key", lambda row: connections.where(row, "dpop_key")),
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
    (Operator, "secret", operators.secret_place),
    (Registration, "client_secret", lambda row: configs.registration_place(row.provider_id, row.client_id)),
    (HeldGrant, "grant", held_grants.held_place),
    (Attempt, "stash", lambda row: place("stash", row.state_hash)),
]
BATCH = 100
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Batch:
    """What was sealed anew of ``column``, and the rows whose text does not open and was left as it is."""

    column: str
    sealed: int = 0
    broken: list[str] = field(default_factory=list)


def rotate() -> Iterator[Batch]:
    """Seal everything under the newest key, a hundred rows at a time. Safe to stop, to kill and to run again."""
    for model, column, where in SEALED:
        for rows in _batches(_old(model, column)):
            yield _reseal_all(rows, column, where)


def left_to_rotate() -> int:
    """How many texts are not under the newest key."""
    return sum(_old(model, column).count() for model, column, _ in SEALED)


def under(model: type[models.Model], column: str, key: str) -> models.QuerySet[Any]:
    """The rows whose text is sealed under ``key``."""
    return model._default_manager.filter(**{f"{column}__startswith": f"v1.{key}."})


def name_of(model: type[models.Model], column: str) -> str:
    """Such as ``connection.access_token``."""
    return f"{model._meta.model_name}.{column}"


def _old(model: type[models.Model], column: str) -> models.QuerySet[Any]:
    sealed = model._default_manager.exclude(**{column: ""})
    return sealed.exclude(**{f"{column}__startswith": f"v1.{ring().newest}."})


def _batches(rows: models.QuerySet[Any]) -> Iterator[list[Any]]:
    """By primary key, so that one pass reads the table once and a row that cannot be changed is met once."""
    some = list(rows.order_by("pk")[:BATCH])
    while some:
        yield some
        some = list(rows.filter(pk__gt=some[-1].pk).order_by("pk")[:BATCH])


def _reseal_all(rows: list[Any], column: str, where: Callable[[Any], str]) -> Batch:
    batch = Batch(name_of(type(rows[0]), column))
    for row in rows:
        try:
            batch.sealed += _reseal(row, column, where(row))
        except SealBroken as error:
            log.critical("vault: %s of %s does not open: %s", batch.column, row.pk, error)
            batch.broken.append(str(row.pk))
    return batch


def _reseal(row: models.Model, column: str, where: str) -> int:
    """Compare-and-set on the old text, so that a refresh in between wins."""
    old = getattr(row, column)
    new = ring().seal(ring().open(old, where), where)
    return type(row)._default_manager.filter(pk=row.pk, **{column: old}).update(**{column: new})
