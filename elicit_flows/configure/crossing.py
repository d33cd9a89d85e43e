"""What no single value shows: whether a file agrees with itself and with what is stored."""

from __future__ import annotations

from collections.abc import Iterator

from elicit_flows.configure.faults import Fault, Wrong, WrongFile
from elicit_flows.configure.identities import identity_faults
from elicit_flows.configure.keys import check_private_key, key_hash
from elicit_flows.configure.payments import account_faults
from elicit_flows.configure.reading import Entry, Tables
from elicit_flows.configure.sorts import sort_faults
from elicit_flows.kinds.credentials import own_client
from elicit_flows.kinds.credentials.rules import credentials_faults
from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider
from elicit_flows.values import Json

REFERENCES = {"identity_providers": "identity_provider", "providers": "provider", "payment_accounts": "payment_account"}


def check(tables: Tables) -> None:
    """Raises WrongFile with every fault there is. Reads the database, writes nothing."""
    faults = [*tables.faults, *_repeated(tables), *_taken(tables), *_unknown(tables), *_sorts(tables)]
    faults += _incomplete(tables)
    if faults:
        raise WrongFile(faults)


def _repeated(tables: Tables) -> Iterator[Fault]:
    seen: set[tuple[str, str, str]] = set()
    for entry in tables.entries:
        for key, value in _unique(entry):
            if (entry.table, key, value) in seen:
                yield tables.fault(
                    entry, key, f"another [[{entry.table}]] of this file has the same; each needs its own"
                )
            seen.add((entry.table, key, value))


def _unique(entry: Entry) -> Iterator[tuple[str, str]]:
    """The keys that no two may share."""
    if entry.slug:
        yield "slug", entry.slug
    if entry.values.get("api_key"):
        yield "api_key", key_hash(entry.values["api_key"])
    if entry.table == "identity_provider" and entry.values["issuer"]:
        yield "issuer", entry.values["issuer"]


def _taken(tables: Tables) -> Iterator[Fault]:
    """Against rows that this file says nothing about."""
    openids, agents = tables.of("identity_provider"), tables.of("agent")
    issuers = dict(IdentityProvider.objects.exclude(slug__in=_slugs(openids)).values_list("issuer", "slug"))
    hashes = dict(Agent.objects.exclude(slug__in=_slugs(agents)).values_list("key_hash", "slug"))
    for entry in openids:
        if entry.values["issuer"] in issuers:
            other = issuers[entry.values["issuer"]]
            yield tables.fault(entry, "issuer", f"is the issuer of identity provider {other} already; use that slug")
    for entry in agents:
        key = entry.values["api_key"]
        if key and key_hash(key) in hashes:
            yield tables.fault(entry, "api_key", f"is the key of agent {hashes[key_hash(key)]}; each needs its own")


def _unknown(tables: Tables) -> Iterator[Fault]:
    known = {
        "identity_provider": {*_slugs(tables.of("identity_provider")), *_stored(IdentityProvider)},
        "provider": {*_slugs(tables.of("provider")), *_stored(Provider)},
        "payment_account": {*_slugs(tables.of("payment_account")), *_stored(PaymentAccount)},
    }
    for entry in tables.of("agent"):
        for key, table in REFERENCES.items():
            for slug in entry.values[key] or []:
                if slug not in known[table]:
                    yield tables.fault(entry, key, f"there is no {table} {slug}; add its table")


def _stored(model: type[IdentityProvider | Provider | PaymentAccount]) -> list[str]:
    return list(model.objects.values_list("slug", flat=True))


def _slugs(entries: list[Entry]) -> list[str]:
    return [entry.slug for entry in entries]


def _sorts(tables: Tables) -> Iterator[Fault]:
    """A slug stays of its sort: people's connections hang on it."""
    known = dict(IdentityProvider.objects.values_list("slug", "sort"))
    for entry in tables.of("identity_provider"):
        if known.get(entry.slug, entry.values["sort"]) != entry.values["sort"]:
            yield tables.fault(entry, "slug", f"is that of sort {known[entry.slug]}; give this one another")
    stored = dict(Provider.objects.values_list("slug", "sort"))
    for entry in tables.of("provider"):
        sort = entry.values["sort"]
        for key, message in sort_faults(sort, entry.given):
            yield tables.fault(entry, key, message)
        if stored.get(entry.slug, sort) != sort:
            yield tables.fault(entry, "slug", f"is that of a provider for {stored[entry.slug]}; give this one another")


def _incomplete(tables: Tables) -> Iterator[Fault]:
    for entry in tables.of("identity_provider"):
        if not entry.wrong:
            for key, message in identity_faults(entry.values, entry.given):
                yield tables.fault(entry, key, message)
    for entry in tables.of("provider"):
        if not entry.wrong:
            for key, message in provider_faults(entry.values, has_secret=entry.values["client_secret"] is not None):
                yield tables.fault(entry, key, message)
    for entry in tables.of("payment_account"):
        if not entry.wrong:
            stored = PaymentAccount.objects.filter(slug=entry.slug).first()
            for key, message in account_faults(entry.values, stored):
                yield tables.fault(entry, key, message)


def provider_faults(values: Json, *, has_secret: bool) -> Iterator[tuple[str, str]]:
    """What a provider's values lack together: (key, message)."""
    if values["sort"] == Provider.Sort.CREDENTIALS:
        yield from credentials_faults(values)
        yield from own_client.faults(values)
        return
    yield from _registration_faults(values, has_secret=has_secret)
    if not values["client_id"] and values["registration"] == "off":
        yield "client_id", "is missing here; add it"
    way_in = "device_authorization_url" if values["grant"] == "device_code" else "authorize_url"
    if not values["issuer"] and not (values[way_in] and values["token_url"]):
        yield "issuer", f"is missing, and so is {way_in} or token_url; give the issuer, or both addresses"
    if values["par"] == "required" and not values["issuer"]:
        yield "issuer", "is missing; where requests are pushed to is asked there"
    yield from _secret_faults(values, has_secret=has_secret)


def _secret_faults(values: Json, *, has_secret: bool) -> Iterator[tuple[str, str]]:
    shared = values["token_auth"].startswith("client_secret")
    if values["token_auth"] == "none" or values["registration"] == "dynamic":
        return
    if shared and values["registration"] == "document":
        return  # it cannot have one
    if not has_secret:
        yield (
            "client_secret",
            f'is missing, and token_auth is {values["token_auth"]}; add it, or say token_auth = "none"',
        )
    elif not shared:
        yield from _private_key_faults(values)


def _registration_faults(values: Json, *, has_secret: bool) -> Iterator[tuple[str, str]]:
    """Where the provider comes to know us without the operator."""
    how = values["registration"]
    if how != "off" and values["client_id"]:
        yield "client_id", f'is not the operator\'s to say with registration = "{how}"; leave it out'
    if how == "dynamic":
        if not values["issuer"]:
            yield "issuer", "is missing; where services register is asked there"
        if has_secret:
            yield "client_secret", 'is what the provider gives us with registration = "dynamic"; leave it out'
        if values["token_auth"] == "private_key_jwt":
            yield "token_auth", 'cannot be private_key_jwt with registration = "dynamic"; use another'
    if how == "document" and values["token_auth"].startswith("client_secret"):
        yield "token_auth", 'must be "none" or "private_key_jwt": a document that all may read has no secret'


def _private_key_faults(values: Json) -> Iterator[tuple[str, str]]:
    if not values["issuer"]:
        yield "issuer", "is missing; private_key_jwt says in every request for whom it is"
    elif values["client_secret"]:
        try:
            check_private_key(values["client_secret"])
        except Wrong as wrong:
            yield "client_secret", str(wrong)
