"""The two sorts of provider in one table: which one an entry is, and what is said of the wrong one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from elicit_flows.kinds.credentials.presets import PRESETS as CREDENTIALS
from elicit_flows.kinds.oauth.presets import PRESETS as OAUTH
from elicit_flows.models import Provider

Sort = Provider.Sort

PRESETS: Mapping[str, dict[str, Any]] = {
    **{name: dict(preset.fields()) for name, preset in OAUTH.items()},
    **{name: preset.fields() for name, preset in CREDENTIALS.items()},
}
ADDRESSES = ("issuer", "authorize_url", "token_url", "revocation_url", "userinfo_url")
OF_OAUTH = (*ADDRESSES, "client_id", "client_secret", "token_auth", "scopes", "pkce")
OF_CREDENTIALS = ("fields", "find_url", "verify")


def sort_of(preset: str, given: Collection[str]) -> Sort:
    """Of a table with these keys."""
    if preset:
        return Sort.CREDENTIALS if preset in CREDENTIALS else Sort.OAUTH
    return Sort.CREDENTIALS if set(given) & set(OF_CREDENTIALS) else Sort.OAUTH


def sort_faults(sort: str, given: Collection[str]) -> Iterator[tuple[str, str]]:
    """The keys that are of the other sort: (key, message)."""
    if sort == Sort.CREDENTIALS:
        for key in sorted(set(given) & set(OF_OAUTH)):
            yield key, "is for OAuth providers, and this one is for credentials; leave it out"
    else:
        for key in sorted(set(given) & set(OF_CREDENTIALS)):
            yield key, "is for credentials, and this one is an OAuth provider; leave it out"
