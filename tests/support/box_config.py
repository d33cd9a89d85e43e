"""The operator's configuration of a box: the file that ``manage.py apply`` reads, and the same at the peers."""

from __future__ import annotations

import json
from typing import Any

from tests.cast import Program
from tests.support.op import Op

Tables = dict[str, list[dict[str, Any]]]

IDENTITY, PROVIDER = "corp", "drive"
IDENTITY_SECRET = "corp-client-secret-for-tests-only-000000"
PROVIDER_SECRET = "drive-client-secret-for-tests-only-00000"
SCOPES = ["openid", "files.read"]


def to_toml(tables: Tables) -> str:
    """TOML of arrays of tables."""
    blocks = []
    for name, rows in tables.items():
        for row in rows:
            values = "".join(f"{key} = {_value(value)}\n" for key, value in row.items() if value is not None)
            blocks.append(f"[[{name}]]\n{values}")
    return "\n".join(blocks)


def _value(value: Any) -> str:
    """A JSON string, number or boolean is a TOML value as it stands."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return json.dumps(value)


def identity_provider(op: Op, public_url: str, *, slug: str = IDENTITY, **more: Any) -> dict[str, Any]:
    """The table, after registering the client at ``op``."""
    client_id = f"elicit-at-{public_url.rpartition(':')[2]}-{slug}"
    op.add_client(client_id, f"{public_url}/login/{slug}/callback", secret=IDENTITY_SECRET)
    return {"slug": slug, "issuer": op.issuer, "client_id": client_id, "client_secret": IDENTITY_SECRET, **more}


def oauth_provider(op: Op, public_url: str, *, slug: str = PROVIDER, **more: Any) -> dict[str, Any]:
    """The table, found by discovery, after registering the client at ``op``."""
    client_id = f"elicit-at-{public_url.rpartition(':')[2]}-{slug}"
    op.add_client(client_id, f"{public_url}/callback/{slug}", secret=PROVIDER_SECRET)
    table = {"slug": slug, "name": slug.title(), "issuer": op.issuer, "client_id": client_id}
    return {**table, "client_secret": PROVIDER_SECRET, "scopes": SCOPES, **more}


def device_provider(op: Op, public_url: str, *, slug: str, **more: Any) -> dict[str, Any]:
    """The same by codes that are typed at ``op`` (RFC 8628)."""
    client_id = f"elicit-at-{public_url.rpartition(':')[2]}-{slug}"
    grants = ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]
    op.add_client(client_id, secret=PROVIDER_SECRET, grant_types=grants, response_types=[])
    table = {"slug": slug, "name": "Drive", "issuer": op.issuer, "client_id": client_id, "grant": "device_code"}
    return {**table, "client_secret": PROVIDER_SECRET, "scopes": SCOPES, **more}


def agent(program: Program, webhook_url: str | None = None, **more: Any) -> dict[str, Any]:
    """The table of an agent that may ask users of the standard identity provider."""
    table = {"slug": program.slug, "name": program.name, "api_key": program.api_key, "identity_providers": [IDENTITY]}
    hook = {"webhook_url": webhook_url, "webhook_secret": program.webhook_secret} if webhook_url else {}
    return {**table, **hook, **more}
