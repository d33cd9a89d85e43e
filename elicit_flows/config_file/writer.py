"""Stores a configuration: the rows become what the file says. Rows that the file does not mention stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from django.db import models, transaction

from elicit_flows import vault
from elicit_flows.brands import page_brand
from elicit_flows.config_file import agents, brands, notifications
from elicit_flows.config_file.differences import Changes, Difference
from elicit_flows.config_file.identity_providers import TYPE_KEYS
from elicit_flows.config_file.payment_accounts import set_account_secrets
from elicit_flows.config_file.providers import ADDRESSES, CREDENTIALS_KEYS
from elicit_flows.config_file.reader import Entry, Tables
from elicit_flows.domain.values import Secret
from elicit_flows.models import (
    Agent,
    Brand,
    IdentityProvider,
    NotificationSettings,
    PaymentAccount,
    Provider,
    Recipient,
)

Row = TypeVar("Row", Agent, IdentityProvider, PaymentAccount, Provider, Recipient)
Record = Callable[[Difference], None]

_IDENTITY_COLUMNS = ("name", "order", "sort", "issuer", *(name for name in TYPE_KEYS if name != "client_secret"))
_PROVIDER_COLUMNS = (
    "name", "preset", "variables", "given", "sort", *ADDRESSES, "client_id", "token_auth", "scopes", "scope_words",
    "grant", "pkce", "par", "registration", "dpop", "resources", "dead_grant", "metadata", "metadata_url", "managed_by",
    "api_urls", *CREDENTIALS_KEYS,
)  # fmt: skip
_ACCOUNT_COLUMNS = (
    "provider", "client_id", "api_base", "livemode", "refund_mismatch", "keep_late", "allow_save", "allow_mandates",
    "renewal_grace", "computes_tax", "makes_invoices", "connected_account", "application_fee_basis_points",
    "network", "max_per_payment", "max_per_day", "payees",
)  # fmt: skip
_AGENT_COLUMNS = (
    "name", "site", "description", "mcp_servers", "import_connections", "notify", "require_user_token",
    "tokens_never_leave", "managed_access", "user_token_audiences", "requests_per_minute", "return_urls", "webhook_url",
)  # fmt: skip


def write(tables: Tables, record: Record) -> list[str]:
    """Store all tables in one transaction: all or nothing. Returns one line for each row and each new secret.

    ``record`` is called for each row of the file, changed or not. If it raises, nothing is stored.
    """
    # Agents come last, since they refer to the others.
    steps: dict[str, Callable[[Entry, Record], Iterator[str]]] = {
        "identity_provider": _write_identity_provider,
        "provider": _write_provider,
        "payment_account": _write_payment_account,
        "agent": _write_agent,
        "brand": _write_brand,
        "notifications": _write_notifications,
        "recipient": _write_recipient,
    }
    with transaction.atomic():
        lines = [line for table, step in steps.items() for entry in tables.of(table) for line in step(entry, record)]
        brands.finish()
    return lines


def _write_identity_provider(entry: Entry, record: Record) -> Iterator[str]:
    row = _locked_row(IdentityProvider, entry.slug)
    changes = _set_columns(row, entry, _IDENTITY_COLUMNS) | brands.set_picture(row, "icon", entry.values["icon"])
    changes |= _set_client_secret(row, entry.values["client_secret"])
    yield _save(row, entry, f"identity provider {entry.slug}", changes, record)


def _write_provider(entry: Entry, record: Record) -> Iterator[str]:
    row, what = _locked_row(Provider, entry.slug), f"provider {entry.slug}"
    before = vault.hosts_of(row) if row.pk else {}
    changes = _set_columns(row, entry, _PROVIDER_COLUMNS) | brands.set_picture(row, "logo", entry.values["logo"])
    changes |= _set_client_secret(row, entry.values["client_secret"])
    key = entry.values["app_key"]
    if vault.app_key(row) != key or vault.app_key_moved(row):
        vault.seal_app_key(row, key)
        changes["app_key"] = None
    yield _save(row, entry, what, changes, record)
    moved = {name: host for name, host in vault.hosts_of(row).items() if before.get(name, host) != host}
    if moved.keys() & {"token", "refresh"}:
        hosts = vault.hosts_in_words(moved)
        yield f"{what}: other hosts now ({hosts}); what people connected before has to be connected again"


def _write_payment_account(entry: Entry, record: Record) -> Iterator[str]:
    row, values = _locked_row(PaymentAccount, entry.slug), entry.values
    secrets = set_account_secrets(row, values["secret_key"], values["webhook_secrets"])
    changes = _set_columns(row, entry, _ACCOUNT_COLUMNS) | dict.fromkeys(secrets)
    yield _save(row, entry, f"payment account {entry.slug}", changes, record)


def _write_agent(entry: Entry, record: Record) -> Iterator[str]:
    row, what, values = _locked_row(Agent, entry.slug), f"agent {entry.slug}", entry.values
    changes = _set_columns(row, entry, _AGENT_COLUMNS) | brands.set_picture(row, "logo", values["logo"])
    all_providers = values["providers"] is None
    if row.all_providers != all_providers:
        changes["all_providers"] = (row.all_providers, all_providers)
        row.all_providers = all_providers
    if "webhook_url" in changes:
        # The failures were those of the previous endpoint.
        row.webhook_disabled_at, row.webhook_failures = None, 0
    made = {}
    if values["api_key"] is None and not row.key_hash:
        made["api_key"] = agents.new_api_key()
    if values["webhook_secret"] is None and row.webhook_url and not row.webhook_secret:
        made["webhook_secret"] = agents.new_webhook_secret()
    for name, set_secret in (("api_key", agents.set_api_key), ("webhook_secret", agents.set_webhook_secret)):
        secret = made[name] if name in made else values[name]
        if secret is not None and set_secret(row, secret):
            changes[name] = None
    new = row.pk is None
    if new or changes:
        row.save()
    # Many-to-many rows need the agent's primary key, so they follow the save.
    for name in ("identity_providers", "providers", "payment_accounts"):
        changes |= _set_related(row, name, values[name] or [])
    changes |= agents.set_spend_limits(row, values["spend_limits"])
    changes |= brands.set_own_brand(row, values["brand"])
    yield _summary(Difference(entry, row, what, changes, new), record)
    for name, shown in agents.show_once(made):
        yield f"{what}: {name}, shown only this once: {shown}"


def _write_brand(entry: Entry, record: Record) -> Iterator[str]:
    row = Brand.objects.select_for_update().filter(agent=None).first() or Brand()
    yield _save(row, entry, "brand", brands.set_brand(row, entry.values), record)
    removed = {name: entry.values[name].removed for name in page_brand.PICTURES if entry.values[name]}
    yield from (f"brand: {name}: taken out: {', '.join(found)}" for name, found in removed.items() if found)


def _write_notifications(entry: Entry, record: Record) -> Iterator[str]:
    row = NotificationSettings.objects.select_for_update().first() or NotificationSettings()
    changes = _set_columns(row, entry, ("email", "webhook_url", "push", "push_hosts", "per_person", "per_agent"))
    notifications.make_push_key(row)
    changes |= notifications.set_chat(row, entry.values["chat"])
    given, made = entry.values["webhook_secret"], {}
    if given is None and row.webhook_url and not row.webhook_secret:
        made["webhook_secret"] = given = agents.new_webhook_secret()
    if given is not None:  # a file that leaves it out leaves it as it is
        changes |= notifications.set_signing_secret(row, given)
    yield _save(row, entry, "notifications", changes, record)
    for name, shown in agents.show_once(made):
        yield f"notifications: {name}, shown only this once: {shown}"


def _write_recipient(entry: Entry, record: Record) -> Iterator[str]:
    row = _locked_row(Recipient, entry.slug)
    email, chat = vault.contacts.open_email(row), vault.contacts.open_chat(row)
    changes = _set_columns(row, entry, ("iss", "sub"))
    if changes and not row._state.adding:  # what is sealed is bound to the person
        vault.contacts.seal_email(row, email)
        vault.contacts.seal_chat(row, chat)
    changes |= notifications.set_email(row, entry.values["email"])
    changes |= notifications.set_chat(row, entry.values["chat"])
    yield _save(row, entry, f"recipient {entry.slug}", changes, record)


def _locked_row(model: type[Row], slug: str) -> Row:
    stored: Row | None = model.objects.select_for_update().filter(slug=slug).first()
    return stored or model(slug=slug)


def _set_columns(row: models.Model, entry: Entry, names: tuple[str, ...]) -> Changes:
    """Put the values on the row; the caller saves it."""
    changes: Changes = {}
    for name in names:
        value = entry.values[name]
        if name == "name" and not isinstance(row, IdentityProvider):
            value = value or entry.slug
        if getattr(row, name) != value:
            changes[name] = (getattr(row, name), value)
            setattr(row, name, value)
    return changes


def _set_client_secret(row: IdentityProvider | Provider, secret: Secret | None) -> Changes:
    """Put the sealed secret on the row; the caller saves it. A file contains the secret and the addresses, so the
    secret may be sent to the hosts that the file names.
    """
    same, bound = vault.client_secret(row) == secret, row.bound_to
    if same and {name: host for name, host in bound.items() if name != "installation"} == vault.hosts_of(row):
        return {}
    vault.seal_client_secret(row, secret)
    hosts: Changes = {"hosts": (bound, row.bound_to)} if bound and bound != row.bound_to else {}
    return hosts if same else hosts | {"client_secret": None}


def _set_related(row: Agent, field: str, slugs: list[str]) -> Changes:
    related: Any = getattr(row, field)
    before, after = sorted(related.values_list("slug", flat=True)), sorted(set(slugs))
    if before == after:
        return {}
    related.set(related.model.objects.filter(slug__in=slugs))
    return {field: (before, after)}


def _save(row: models.Model, entry: Entry, what: str, changes: Changes, record: Record) -> str:
    new = row.pk is None
    if new or changes:
        row.save()
    return _summary(Difference(entry, row, what, changes, new), record)


def _summary(found: Difference, record: Record) -> str:
    """The line that the command prints; ``record`` gets the details."""
    record(found)
    if found.new:
        return f"{found.what}: made"
    # "all_providers" is not a key of the file: it says whether "providers" was left out.
    names = dict.fromkeys("providers" if name == "all_providers" else name for name in found.changes)
    return f"{found.what}: changed {', '.join(names)}" if names else f"{found.what}: as it was"
