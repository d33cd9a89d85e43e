"""Making the rows as the file says. What the file says nothing about is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from django.db import models, transaction

from elicit_flows import vault
from elicit_flows.configure import keys
from elicit_flows.configure.identities import OF_SORTS
from elicit_flows.configure.payments import put_account_secrets
from elicit_flows.configure.reading import Entry, Tables
from elicit_flows.configure.sorts import ADDRESSES, OF_CREDENTIALS
from elicit_flows.configure.spending import put_limits
from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider
from elicit_flows.values import Json, Secret

Row = TypeVar("Row", Agent, IdentityProvider, PaymentAccount, Provider)

_IDENTITY = ("sort", "issuer", *(name for name in OF_SORTS if name != "client_secret"))
_PROVIDER = (
    "name", "preset", "variables", "given", "sort", *ADDRESSES, "client_id", "token_auth", "scopes", "grant", "pkce",
    "par", "registration", "dpop", "resources", *OF_CREDENTIALS,
)  # fmt: skip
_ACCOUNT = ("provider", "api_base", "livemode", "refund_mismatch", "keep_late")
_AGENT = (
    "name", "import_connections", "require_user_token", "user_token_audiences", "return_urls", "webhook_url",
)  # fmt: skip


def write(tables: Tables) -> list[str]:
    """One line for each thing done and each secret made, in one transaction: all or nothing."""
    steps: dict[str, Callable[[Entry], Iterator[str]]] = {
        "identity_provider": _identity_provider,
        "provider": _provider,
        "payment_account": _payment_account,
        "agent": _agent,
    }
    with transaction.atomic():
        return [line for table, step in steps.items() for entry in tables.of(table) for line in step(entry)]


def _identity_provider(entry: Entry) -> Iterator[str]:
    row = _row(IdentityProvider, entry.slug)
    changed = [*_put(row, _some(entry, _IDENTITY)), *_put_client_secret(row, entry.values["client_secret"])]
    yield _save(row, f"identity provider {entry.slug}", changed)


def _provider(entry: Entry) -> Iterator[str]:
    row = _row(Provider, entry.slug)
    changed = [*_put(row, _some(entry, _PROVIDER)), *_put_client_secret(row, entry.values["client_secret"])]
    yield _save(row, f"provider {entry.slug}", changed)


def _payment_account(entry: Entry) -> Iterator[str]:
    row, values = _row(PaymentAccount, entry.slug), entry.values
    secrets = put_account_secrets(row, values["secret_key"], values["webhook_secrets"])
    yield _save(row, f"payment account {entry.slug}", [*_put(row, _some(entry, _ACCOUNT)), *secrets])


def _agent(entry: Entry) -> Iterator[str]:
    row, what = _row(Agent, entry.slug), f"agent {entry.slug}"
    changed = _put(row, {**_some(entry, _AGENT), "all_providers": entry.values["providers"] is None})
    if "webhook_url" in changed:  # another endpoint: what the one before answered says nothing about it
        row.webhook_disabled_at, row.webhook_failures = None, 0
    made = _made_secrets(entry, row)
    changed += _put_secrets(row, {**entry.values, **made})
    said = _save(row, what, changed)
    changed += _link(row, "identity_providers", entry.values["identity_providers"])
    changed += _link(row, "providers", entry.values["providers"] or [])
    changed += _link(row, "payment_accounts", entry.values["payment_accounts"])
    changed += put_limits(row, entry.values["spend_limits"])
    yield said if said.endswith(": made") else _said(what, changed)
    for name, secret in keys.show_once(made):
        yield f"{what}: {name}, shown only this once: {secret}"


def _made_secrets(entry: Entry, row: Agent) -> dict[str, Secret]:
    """What the file leaves to us and the agent does not have yet."""
    made = {}
    if entry.values["api_key"] is None and not row.key_hash:
        made["api_key"] = keys.new_api_key()
    if entry.values["webhook_secret"] is None and row.webhook_url and not row.webhook_secret:
        made["webhook_secret"] = keys.new_webhook_secret()
    return made


def _put_secrets(row: Agent, values: Json) -> list[str]:
    puts = {"api_key": keys.put_api_key, "webhook_secret": keys.put_webhook_secret}
    return [name for name, put in puts.items() if values[name] is not None and put(row, values[name])]


def _put_client_secret(row: IdentityProvider | Provider, secret: Secret | None) -> list[str]:
    if vault.client_secret(row) == secret:
        return []
    vault.seal_client_secret(row, secret)
    return ["client_secret"]


def _row(model: type[Row], slug: str) -> Row:
    found: Row | None = model.objects.select_for_update().filter(slug=slug).first()
    return found or model(slug=slug)


def _some(entry: Entry, names: tuple[str, ...]) -> Json:
    """The values under ``names``; what has no name is called by its slug."""
    values = {name: entry.values[name] for name in names}
    return {**values, "name": values["name"] or entry.slug} if "name" in values else values


def _put(row: models.Model, values: Json) -> list[str]:
    """Those that differ, on the row; their names."""
    changed = [name for name, value in values.items() if getattr(row, name) != value]
    for name in changed:
        setattr(row, name, values[name])
    return changed


def _link(row: Agent, field: str, slugs: list[str]) -> list[str]:
    linked: Any = getattr(row, field)
    if set(linked.values_list("slug", flat=True)) == set(slugs):
        return []
    linked.set(linked.model.objects.filter(slug__in=slugs))
    return [field]


def _save(row: models.Model, what: str, changed: list[str]) -> str:
    new = row.pk is None
    if new or changed:
        row.save()
    return f"{what}: made" if new else _said(what, changed)


def _said(what: str, changed: list[str]) -> str:
    names = dict.fromkeys("providers" if name == "all_providers" else name for name in changed)
    return f"{what}: changed {', '.join(names)}" if names else f"{what}: as it was"
