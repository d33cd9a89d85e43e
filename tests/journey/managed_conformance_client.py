"""The client of MCP's conformance suite for enterprise-managed authorization: an operator, a person and an agent at
this service. The suite appends the server's address, and says in its context what was issued at a sign-in.

BOX is the environment of the service, as JSON. ELICIT_URL and ELICIT_API_KEY are the agent's.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from elicit_flows.sdk import Completed, Elicit
from elicit_flows.sdk.mcp import ConnectionAuth
from tests.support.box_config import to_toml
from tests.support.process import PROJECT

SERVER = sys.argv[-1]
CONTEXT: dict[str, str] = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
# Signing in is not part of the scenario, and neither is a page.
SIGN_IN = """
from datetime import UTC, datetime
from elicit_flows import vault
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.identity import Issued, SignedIn
from elicit_flows.models import IdentityProvider
issued = Issued(Secret({token!r}), datetime.fromtimestamp({exp}, UTC), None)
person = SignedIn(Claim({iss!r}, {sub!r}), None, "", issued=issued)
vault.keep_assertion(IdentityProvider.objects.get(slug="xaa"), person)
"""
PRESS = """
from elicit_flows import elicitations
from elicit_flows.domain.values import Claim
assert elicitations.begin({id!r}, Claim({iss!r}, {sub!r}), "a browser", None) is None
"""


def manage(*arguments: str) -> None:
    env = {**os.environ, **json.loads(os.environ["BOX"])}
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=PROJECT, env=env, check=True)


def claims() -> dict[str, Any]:
    body = CONTEXT["idp_id_token"].split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))


def configure() -> None:
    parts = httpx2.URL(SERVER)
    metadata = httpx2.get(f"{parts.scheme}://{parts.netloc.decode()}/.well-known/oauth-protected-resource{parts.path}")
    (server,) = metadata.json()["authorization_servers"]
    identity = {"slug": "xaa", "issuer": CONTEXT["idp_issuer"], "client_id": CONTEXT["idp_client_id"]}
    provider = {
        "slug": "notes", "issuer": server, "client_id": CONTEXT["client_id"],
        "client_secret": CONTEXT["client_secret"], "resources": [SERVER], "managed_by": "xaa",
    }  # fmt: skip
    agent = {
        "slug": "conformant", "api_key": os.environ["ELICIT_API_KEY"], "identity_providers": ["xaa"],
        "managed_access": True,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "elicit.toml"
        file.write_text(to_toml({"identity_provider": [identity], "provider": [provider], "agent": [agent]}))
        manage("apply", "--yes", "--skip-checks", str(file))


async def main() -> None:
    said = claims()
    person = {"iss": said["iss"], "sub": said["sub"]}
    configure()
    manage("shell", "-c", SIGN_IN.format(token=CONTEXT["idp_id_token"], exp=said["exp"], **person))

    async def press(link: str) -> None:
        await asyncio.to_thread(manage, "shell", "-c", PRESS.format(id=link.rpartition("/")[2], **person))

    async with Elicit() as elicit:
        account = await elicit.oauth((said["iss"], said["sub"]), "notes", on_url=press, timeout=30)
        assert isinstance(account, Completed)
        async with (
            httpx2.AsyncClient(auth=ConnectionAuth(elicit, account), trust_env=False) as http,
            Client(streamable_http_client(SERVER, http_client=http)) as client,
        ):
            for tool in (await client.list_tools()).tools:
                await client.call_tool(tool.name, {})


if __name__ == "__main__":
    asyncio.run(main())
