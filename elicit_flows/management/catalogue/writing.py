"""Entries as text: a discovery document as an entry's file, an entry as the beginning of a configuration."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from elicit_flows import catalogue
from elicit_flows.catalogue import Entry
from elicit_flows.lib.oauth import Metadata

# In the order in which they are taken where a server offers several (RFC 8414, section 2: basic where it says nothing).
_METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")


def from_discovery(slug: str, name: str, found: Metadata, today: date) -> str:
    """An entry's file. Raises BadCatalogue for metadata that make none."""
    offered = found.auth_methods or ("client_secret_basic",)
    method = next((one for one in _METHODS if one in offered), None)
    ends = {
        "issuer": found.issuer,
        "authorize": found.authorization_endpoint,
        "token": found.token_endpoint,
        "revoke": found.revocation_endpoint,
        "userinfo": found.userinfo_endpoint,
    }
    lines = [
        f"name = {_toml(name)}",
        'kind = "oauth"',
        f"source_url = {_toml(found.issuer)}",
        'checked = "document"',
        f"checked_on = {today.isoformat()}",
        'note = "From the metadata that the server publishes."',
        f"token_auth = {_toml(method or offered[0])}",
        f"pkce = {_toml('S256' if found.offers_s256() else 'off')}",
        "",
        "[endpoints]",
        *(f"{key} = {_toml(url)}" for key, url in ends.items() if url),
    ]
    text = "\n".join(lines) + "\n"
    catalogue.read(text, slug, f"{slug}.toml")
    return text


def table(entry: Entry) -> str:
    """A ``[[provider]]`` to begin with."""
    lines = ["[[provider]]", f"slug = {_toml(entry.slug)}", f"preset = {_toml(entry.slug)}"]
    if entry.variables:
        lines.append(
            "variables = { " + ", ".join(f"{one.name} = {_toml(one.example)}" for one in entry.variables) + " }"
        )
    if entry.kind == "oauth":
        lines.append('client_id = "…"')
        if entry.token_auth != "none":
            lines.append(f'client_secret = "env:{entry.slug.upper().replace("-", "_")}_SECRET"')
    return "\n".join(lines)


def facts(entry: Entry) -> str:
    """All that it says, a line for each."""
    said = entry.model_dump(exclude_defaults=True, exclude={"slug", "note"}, mode="json")
    return "\n".join(f"{key}: {_shown(value)}" for key, value in said.items())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _toml(value: str) -> str:
    """A JSON string is a TOML basic string."""
    return json.dumps(value, ensure_ascii=False)
