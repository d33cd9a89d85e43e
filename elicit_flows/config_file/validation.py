"""Checks across values: whether a file agrees with itself and with the database."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from elicit_flows.config_file import identity_providers, payment_accounts, providers
from elicit_flows.config_file.agents import key_hash
from elicit_flows.config_file.reader import Tables
from elicit_flows.config_file.values import Fault, InvalidFile
from elicit_flows.domain.values import Json
from elicit_flows.models import (
    Agent,
    Brand,
    IdentityProvider,
    NotificationSettings,
    PaymentAccount,
    Provider,
    Recipient,
)

MODELS: dict[str, type[IdentityProvider | Provider | PaymentAccount]] = {
    "identity_provider": IdentityProvider, "provider": Provider, "payment_account": PaymentAccount,
}  # fmt: skip
# The keys of an agent that list slugs, and the tables of those slugs.
REFERENCES = {"identity_providers": "identity_provider", "providers": "provider", "payment_accounts": "payment_account"}
_CONFLICTS: dict[str, Any] = {
    "identity_provider": identity_providers.conflicts,
    "provider": providers.conflicts,
    "payment_account": payment_accounts.conflicts,
}


def check(tables: Tables) -> None:
    """Raises InvalidFile with all faults. Reads the database, writes nothing."""
    faults = [*tables.faults, *_duplicates(tables), *_taken(tables), *_missing_references(tables)]
    for table, model in MODELS.items():
        for entry in tables.of(table):
            # A wrong value is replaced by its default, which could cause conflicts that do not exist.
            if not entry.wrong:
                stored = model._default_manager.filter(slug=entry.slug).first()
                pairs = conflicts(table, entry.values, entry.given, stored)
                faults += [tables.fault(entry, key, message) for key, message in pairs]
    if faults:
        raise InvalidFile(faults)


def conflicts(table: str, values: Json, given: Collection[str], stored: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with a table's values together, and with changing the row ``stored`` to them, as (key, message).

    ``values`` has each key of the table; ``given`` names those that the operator wrote. The forms of the admin call
    this too.
    """
    check_table = _CONFLICTS.get(table)
    if check_table:
        yield from check_table(values, given, stored)


def not_in_file(tables: Tables) -> list[str]:
    """The stored rows that the file does not mention, as "agent bot"."""
    models: dict[str, Any] = {**MODELS, "agent": Agent, "recipient": Recipient}
    single = {"brand": Brand.objects.filter(agent=None), "notifications": NotificationSettings.objects.all()}
    unmentioned = [name for name, rows in single.items() if not tables.of(name) and rows.exists()]
    rows = {table: model.objects.all() for table, model in models.items()}
    rows["provider"] = Provider.objects.filter(mcp="")  # remote MCP servers are discovered, not configured
    return unmentioned + [
        f"{table.replace('_', ' ')} {slug}"
        for table, some in rows.items()
        for slug in some.exclude(slug__in=[entry.slug for entry in tables.of(table)])
        .order_by("slug")
        .values_list("slug", flat=True)
    ]


def _duplicates(tables: Tables) -> Iterator[Fault]:
    """Values that no two tables of the file may share."""
    seen: set[tuple[str, str, str]] = set()
    for entry in tables.entries:
        unique = {"slug": entry.slug}
        if entry.values.get("api_key"):
            unique["api_key"] = key_hash(entry.values["api_key"])
        if entry.table == "identity_provider":
            unique["issuer"] = entry.values["issuer"]
        if entry.table == "recipient" and not entry.wrong:
            unique["sub"] = json.dumps([entry.values["iss"], entry.values["sub"]])
        for key, value in unique.items():
            if value and (entry.table, key, value) in seen:
                message = f"another [[{entry.table}]] of this file has the same; each needs its own"
                yield tables.fault(entry, key, message)
            seen.add((entry.table, key, value))


def _taken(tables: Tables) -> Iterator[Fault]:
    """Values that belong to rows which this file does not mention."""
    identities, agents = tables.of("identity_provider"), tables.of("agent")
    other_identities = IdentityProvider.objects.exclude(slug__in=[entry.slug for entry in identities])
    issuers = dict(other_identities.values_list("issuer", "slug"))
    other_agents = Agent.objects.exclude(slug__in=[entry.slug for entry in agents])
    hashes = dict(other_agents.values_list("key_hash", "slug"))
    for entry in identities:
        if entry.values["issuer"] in issuers:
            other = issuers[entry.values["issuer"]]
            yield tables.fault(entry, "issuer", f"is the issuer of identity provider {other} already; use that slug")
    for entry in tables.of("recipient"):
        person = {"iss": entry.values["iss"], "sub": entry.values["sub"]}
        listed = [one.slug for one in tables.of("recipient")]
        known = Recipient.objects.filter(**person).exclude(slug__in=listed).first()
        if known and not entry.wrong:
            yield tables.fault(entry, "sub", f"is the person of recipient {known.slug} already; use that slug")
    for entry in agents:
        key = entry.values["api_key"]
        if key and key_hash(key) in hashes:
            yield tables.fault(entry, "api_key", f"is the key of agent {hashes[key_hash(key)]}; each needs its own")


def _missing_references(tables: Tables) -> Iterator[Fault]:
    known = {
        table: {*model._default_manager.values_list("slug", flat=True), *(entry.slug for entry in tables.of(table))}
        for table, model in MODELS.items()
    }
    for entry in tables.of("provider"):
        managed_by = entry.values["managed_by"]
        if managed_by and managed_by not in known["identity_provider"]:
            yield tables.fault(entry, "managed_by", f"there is no identity_provider {managed_by}; add its table")
    for entry in tables.of("agent"):
        for key, table in REFERENCES.items():
            for slug in entry.values[key] or []:
                if slug not in known[table]:
                    yield tables.fault(entry, key, f"there is no {table} {slug}; add its table")
