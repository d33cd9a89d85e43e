"""Catalogue entries for ``manage.py providers``, as text."""

from __future__ import annotations

import json
from datetime import date

from elicit_flows import catalogue
from elicit_flows.catalogue import Entry
from elicit_flows.oauth import Metadata

# In order of preference, for servers that offer several. One that names none offers basic (RFC 8414, section 2).
_TOKEN_AUTHS = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")


def entry_from_discovery(slug: str, name: str, metadata: Metadata, today: date) -> str:
    """The file of an entry. Raises BadCatalogue if the metadata are not enough for one."""
    offered = metadata.auth_methods or ("client_secret_basic",)
    token_auth = next((name for name in _TOKEN_AUTHS if name in offered), offered[0])
    endpoints = {
        "issuer": metadata.issuer,
        "authorize": metadata.authorization_endpoint,
        "token": metadata.token_endpoint,
        "revoke": metadata.revocation_endpoint,
        "userinfo": metadata.userinfo_endpoint,
    }
    lines = [
        f"name = {_toml_string(name)}",
        'kind = "oauth"',
        f"source_url = {_toml_string(metadata.issuer)}",
        'checked = "document"',
        f"checked_on = {today.isoformat()}",
        'note = "From the metadata that the server publishes."',
        f"token_auth = {_toml_string(token_auth)}",
        f"pkce = {_toml_string('S256' if metadata.offers_s256() else 'off')}",
        "",
        "[endpoints]",
        *(f"{key} = {_toml_string(url)}" for key, url in endpoints.items() if url),
    ]
    text = "\n".join(lines) + "\n"
    catalogue.read(text, slug, f"{slug}.toml")
    return text


def provider_table(entry: Entry) -> str:
    """A ``[[provider]]`` for the configuration file, to be completed by the operator."""
    lines: list[str] = []
    if where := entry.registration:  # comments: the format of an entry allows no line break in either
        lines += [f"# Register the client at {where.page}", f'# with its redirect URI in the field "{where.field}".']
    lines += ["[[provider]]", f"slug = {_toml_string(entry.slug)}", f"preset = {_toml_string(entry.slug)}"]
    examples = {one.name: f"{one.name} = {_toml_string(one.example)}" for one in entry.variables}
    needed = [text for name, text in examples.items() if not entry.may_be_asked(name)]
    if needed:
        lines.append("variables = { " + ", ".join(needed) + " }")
    if len(needed) < len(examples):
        every = ", ".join(examples.values())
        lines.append(f"# Users are asked for what is left out. To set it for all: variables = {{ {every} }}")
    if entry.kind == "oauth":
        lines.append('client_id = "…"')
        if entry.token_auth != "none":
            lines.append(f'client_secret = "env:{entry.slug.upper().replace("-", "_")}_SECRET"')
    return "\n".join(lines)


def entry_facts(entry: Entry) -> str:
    """The content of an entry, one line for each key."""
    facts = entry.model_dump(exclude_defaults=True, exclude={"slug", "note"}, mode="json", by_alias=True)
    return "\n".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in facts.items()
    )


def _toml_string(value: str) -> str:
    # Each JSON string is a TOML basic string too.
    return json.dumps(value, ensure_ascii=False)
