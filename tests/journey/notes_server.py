"""A remote MCP server on the vendor's library, with authorization of its own: ``notes_server.py PORT ISSUER``.

Its authorization server is somebody else's. It takes JWTs (RFC 9068) that were issued for it alone. The tool
``write_note`` needs a scope that a client gets only when it asks for it. ``POST /refuse``: from now on it refuses every
token that it has seen. The tool ``fail`` does the same first, and fails a second later;
``GET /runs`` says how often it ran.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx2
import uvicorn
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from starlette.requests import Request
from starlette.responses import Response

PORT, ISSUER = int(sys.argv[1]), sys.argv[2]
HERE = f"http://127.0.0.1:{PORT}"
RESOURCE = f"{HERE}/mcp"
WRITES = "notes.write"


seen: set[str] = set()
refused: set[str] = set()
runs: list[str] = []


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        seen.add(token)
        if token in refused:
            return None
        async with httpx2.AsyncClient(trust_env=False) as client:
            keys = KeySet.import_key_set((await client.get(f"{ISSUER}/jwks")).json())
        try:
            claims = jwt.decode(token, keys).claims
        except (ValueError, JoseError):
            return None
        if claims["iss"] != ISSUER or claims["aud"] != RESOURCE:
            return None
        scopes = claims.get("scope", "").split()
        return AccessToken(
            token=token, client_id=claims["client_id"], scopes=scopes, subject=claims["sub"], resource=RESOURCE,
            expires_at=claims["exp"],
        )  # fmt: skip


server = MCPServer(
    "notes",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url=ISSUER, resource_server_url=RESOURCE, required_scopes=["notes.read"], validate_token_resource=True
    ),
)


@server.custom_route("/refuse", methods=["POST"])
async def refuse(request: Request) -> Response:
    refused.update(seen)
    return Response()


@server.tool()
def list_notes() -> str:
    token = get_access_token()
    return f"the notes of {token.subject if token else 'nobody'}"


@server.custom_route("/runs", methods=["GET"])
async def count_runs(request: Request) -> Response:
    return Response(str(len(runs)))


@server.tool()
async def fail() -> str:
    refused.update(seen)
    runs.append("fail")
    await asyncio.sleep(1)
    raise MCPError(INTERNAL_ERROR, "failed")


@server.tool()
def write_note(text: str) -> str:
    return f"wrote {text}"


class StepUp:
    """Refuses the tool that writes to a token that may not, as the MCP specification says; the library cannot yet."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        message = await receive()
        bearer = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        known = await Verifier().verify_token(bearer) if bearer and b"write_note" in message.get("body", b"") else None
        if known and WRITES not in known.scopes:
            said = f'Bearer error="insufficient_scope", scope="{WRITES}"'
            headers = [(b"www-authenticate", said.encode()), (b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            return await send(
                {"type": "http.response.body", "body": json.dumps({"error": "insufficient_scope"}).encode()}
            )

        async def again() -> Any:
            nonlocal message
            first, message = message, None
            return first if first is not None else await receive()

        return await self.app(scope, again, send)


if __name__ == "__main__":
    uvicorn.run(StepUp(server.streamable_http_app()), host="127.0.0.1", port=PORT, log_level="warning")
