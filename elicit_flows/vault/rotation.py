"""Key rotation while the service runs: every sealed text is sealed again with the newest key, row by row.

Each row is written on its own, and only if its text has not changed since it was read. So nobody waits for a rotation,
and a refresh meanwhile is not overwritten. The texts name their keys, so a rotation that was stopped continues where it
was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.db.models.functions import Left

from elicit_flows.models import (
    Agent,
    Attempt,
    Checkout,
    Connection,
    Contact,
    Elicitation,
    IdentityAssertion,
    IdentityProvider,
    NotificationSettings,
    Operator,
    PaymentAccount,
    PendingGrant,
    Provider,
    PushSubscription,
    ReceiptKey,
    Recipient,
    Registration,
)
from elicit_flows.vault import (
    connections,
    contacts,
    managed,
    notes,
    payment_accounts,
    pending_grants,
    provider_settings,
    receipt_keys,
    two_factor,
)
from elicit_flows.vault.seal import SealBroken, place, ring

_PREFIX = "v1.{}."  # how a text that is sealed with this key begins
# Every sealed column, and the place that its text is bound to.
SEALED: list[tuple[type[models.Model], str, Callable[[Any], str]]] = [
    (Connection, "access_token", lambda row: connections.sealed_at(row, "access_token")),
    (Connection, "refresh_token", lambda row: connections.sealed_at(row, "refresh_token")),
    (Connection, "dpop_key", lambda row: connections.sealed_at(row, "dpop_key")),
    (Connection, "token_secret", lambda row: connections.sealed_at(row, "token_secret")),
    (Connection, "secrets", lambda row: connections.sealed_at(row, "secrets")),
    (Connection, "set_tokens", lambda row: connections.sealed_at(row, "set_tokens")),
    (Connection, "minted", lambda row: connections.sealed_at(row, "minted")),
    (IdentityProvider, "client_secret", provider_settings.client_secret_place),
    (IdentityAssertion, "id_token", lambda row: managed.assertion_place(row, "id_token")),
    (IdentityAssertion, "refresh_token", lambda row: managed.assertion_place(row, "refresh_token")),
    (Provider, "client_secret", provider_settings.client_secret_place),
    (Provider, "app_key", provider_settings.app_key_place),
    (Agent, "webhook_secret", lambda row: provider_settings.webhook_place(row, "webhook_secret")),
    (Agent, "webhook_secret_previous", lambda row: provider_settings.webhook_place(row, "webhook_secret_previous")),
    (PaymentAccount, "secret_key", lambda row: payment_accounts.account_place(row, "secret_key")),
    (PaymentAccount, "webhook_secrets", lambda row: payment_accounts.account_place(row, "webhook_secrets")),
    (Checkout, "url", payment_accounts.url_place),
    (ReceiptKey, "private", receipt_keys.key_place),
    (Elicitation, "note", notes.note_place),
    (Operator, "secret", two_factor.secret_place),
    (Registration, "client_secret", provider_settings.registration_place),
    (PendingGrant, "grant", pending_grants.held_place),
    (Contact, "email", contacts.email_place),
    (Recipient, "email", contacts.email_place),
    (Recipient, "chat", contacts.chat_place),
    (NotificationSettings, "chat", contacts.chat_place),
    (NotificationSettings, "webhook_secret", contacts.signing_place),
    (NotificationSettings, "push_key", contacts.push_key_place),
    (PushSubscription, "address", contacts.push_place),
    (Attempt, "stash", lambda row: place("stash", row.state_hash)),
]
BATCH = 100
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Batch:
    """How many texts of ``column`` were sealed again, and the rows whose text does not open and was left alone."""

    column: str
    sealed: int = 0
    broken: list[str] = field(default_factory=list)


def rotate() -> Iterator[Batch]:
    """Seal everything with the newest key, a hundred rows at a time. It may be stopped at any time and run again."""
    for model, column, where in SEALED:
        for rows in _batches(_old(model, column)):
            batch = Batch(name_of(type(rows[0]), column))
            for row in rows:
                try:
                    batch.sealed += _reseal(row, column, where(row))
                except SealBroken as error:
                    log.critical("vault: %s of %s does not open: %s", batch.column, row.pk, error)
                    batch.broken.append(str(row.pk))
            yield batch


def left_to_rotate() -> int:
    """How many texts are not sealed with the newest key."""
    return sum(_old(model, column).count() for model, column, _ in SEALED)


def under(model: type[models.Model], column: str, key: str) -> models.QuerySet[Any]:
    """The rows whose text is sealed with ``key``."""
    return _beginning(model, column, key).filter(beginning=_PREFIX.format(key))


def name_of(model: type[models.Model], column: str) -> str:
    """The name of the column, such as ``connection.access_token``."""
    return f"{model._meta.model_name}.{column}"


def _old(model: type[models.Model], column: str) -> models.QuerySet[Any]:
    newest = ring().newest
    return _beginning(model, column, newest).exclude(**{column: ""}).exclude(beginning=_PREFIX.format(newest))


def _beginning(model: type[models.Model], column: str, key: str) -> models.QuerySet[Any]:
    """All rows, with as much of the text as names a key like this. Not by LIKE, which knows no case on SQLite."""
    return model._default_manager.alias(beginning=Left(column, len(_PREFIX.format(key))))


def _batches(rows: models.QuerySet[Any]) -> Iterator[list[Any]]:
    """The rows in batches, by primary key, so that one pass reads the table once and meets a row that does not open
    once.
    """
    some = list(rows.order_by("pk")[:BATCH])
    while some:
        yield some
        some = list(rows.filter(pk__gt=some[-1].pk).order_by("pk")[:BATCH])


def _reseal(row: models.Model, column: str, where: str) -> int:
    """Replace the text if it is still the old one, so that a refresh meanwhile is not overwritten."""
    old = getattr(row, column)
    new = ring().seal(ring().open(old, where), where)
    return type(row)._default_manager.filter(pk=row.pk, **{column: old}).update(**{column: new})
