"""The two sorts of provider in one table: which one an entry is, and what is said of the wrong one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from elicit_flows import catalogue
from elicit_flows.configure.faults import Wrong
from elicit_flows.kinds.credentials import own_client
from elicit_flows.lib import http
from elicit_flows.models import Provider
from elicit_flows.models.provider import SETTINGS
from elicit_flows.values import Json

Sort = Provider.Sort

ADDRESSES = (
    "issuer", "authorize_url", "token_url", "revocation_url", "userinfo_url", "device_authorization_url",
)  # fmt: skip
OF_OAUTH = (
    *ADDRESSES,
    "client_id",
    "client_secret",
    "token_auth",
    "scopes",
    "grant",
    "pkce",
    "par",
    "dpop",
    "resources",
    "registration",
)
OF_CREDENTIALS = ("fields", "find_url", "verify")
# Of both: where and how tokens are asked for, and given back.
OF_TOKENS = ("token_url", "token_auth", "scopes", "resources", "revocation_url")


def preset(value: Any) -> str:
    """The slug of an entry of the catalogue. Raises Wrong."""
    if not isinstance(value, str) or catalogue.find(value) is None:
        raise Wrong("is not in the catalogue; `manage.py providers` lists what is")
    return value


def variables(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise Wrong('must be a table of texts, such as { shop = "our-shop" }')
    return value


def filled_in(values: Json, given: Collection[str]) -> Json:
    """What the preset says of what was not ``given``, and what was. Raises Wrong about the variables."""
    entry = catalogue.find(values["preset"]) if values["preset"] else None
    if entry is None:
        if values["variables"]:
            raise Wrong("are for a preset that has them; leave them out")
        return {"given": None}
    try:
        said = entry.settings(values["variables"])
    except ValueError as error:
        raise Wrong(f"are not what {entry.name} needs: {error}") from None
    for name in ADDRESSES:
        if values["variables"] and name not in given and said.get(name):
            _check(said[name])
    return {name: value for name, value in said.items() if name not in given} | {
        "given": [name for name in SETTINGS if name in given]
    }


def _check(address: str) -> None:
    try:
        http.check_url(address)
    except http.Refused as refusal:
        raise Wrong(f"lead to {address}, which is refused: {refusal}") from None


def sort_of(said: str, preset: str, given: Collection[str]) -> Sort:
    """Of a table with these keys; ``said`` is what it says itself, or ""."""
    entry = catalogue.find(preset) if preset else None
    if entry:
        return Sort(entry.sort)
    if said:
        return Sort(said)
    return Sort.CREDENTIALS if set(given) & set(OF_CREDENTIALS) else Sort.OAUTH


def fields_of(values: Json) -> list[Json]:
    """What is asked for: a client of the person's own has the same fields everywhere, so they need not be said."""
    made = own_client.FIELDS if values["sort"] == Sort.CREDENTIALS and values["token_url"] else []
    return values["fields"] or made


def sort_faults(sort: str, given: Collection[str]) -> Iterator[tuple[str, str]]:
    """The keys that are of the other sort: (key, message)."""
    if sort == Sort.CREDENTIALS:
        for key in sorted(set(given) & set(OF_OAUTH) - set(OF_TOKENS)):
            yield key, "is for OAuth providers, and this one is for credentials; leave it out"
    else:
        for key in sorted(set(given) & set(OF_CREDENTIALS)):
            yield key, "is for credentials, and this one is an OAuth provider; leave it out"
