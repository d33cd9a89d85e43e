"""An MCP server whose tools ask their user: streamable HTTP at /mcp, for clients of both revisions.

    python examples/mcp_server.py --port 3000 --user https://id.example alice

--stdio serves the client that starts it, instead of a port; --user is needed then.
Without --user, the caller's access token names the user. MCP_ISSUER is the issuer whose tokens are accepted, and
MCP_RESOURCE their audience, if it is not this server's address on this machine. ELICIT_URL and ELICIT_API_KEY say where
the service is, SANDBOX_URL where Acme Drive and the terms are.
"""

import argparse
import os
from dataclasses import dataclass
from typing import Literal

import httpx2
import jwt
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity

from elicit_flows.sdk import Answered, Completed, Elicit
from elicit_flows.sdk.mcp import McpFlows, state_key

KEY = [{"name": "api_key", "label": "API key"}]
SANDBOX = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8001")


@dataclass
class Plan:
    plan: Literal["free", "pro"]


class SignedTokens:
    """Accepts access tokens that are JWTs of one issuer, for this server only (RFC 9068)."""

    def __init__(self, issuer: str, audience: str) -> None:
        self.issuer, self.audience = issuer, audience
        found = httpx2.get(f"{issuer}/.well-known/openid-configuration").raise_for_status().json()
        self.keys = jwt.PyJWKClient(found["jwks_uri"])

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            key = self.keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(
                token,
                key,
                ["RS256", "ES256"],
                issuer=self.issuer,
                audience=self.audience,
                options={"require": ["exp", "iss", "sub"]},
            )
        except jwt.PyJWTError:
            return None
        client, scopes = claims.get("client_id", ""), claims.get("scope", "").split()
        return AccessToken(token=token, client_id=client, scopes=scopes, subject=claims["sub"], claims=claims)


def identity(port: int, user: tuple[str, str] | None) -> dict[str, object]:
    """What the library needs to verify access tokens; nothing for a server with one user."""
    issuer = os.environ.get("MCP_ISSUER")
    if user or not issuer:
        return {}
    resource = os.environ.get("MCP_RESOURCE", f"http://127.0.0.1:{port}/mcp")
    auth = AuthSettings(issuer_url=issuer, resource_server_url=resource)
    return {"token_verifier": SignedTokens(issuer, resource), "auth": auth}


def server(port: int, user: tuple[str, str] | None) -> MCPServer:
    elicit = Elicit()
    flows = McpFlows(elicit, user=user)
    state = RequestStateSecurity(keys=[state_key()])
    app = MCPServer("Files", version="1.0", request_state_security=state, **identity(port, user))
    app.middleware.append(flows.tasks())

    @app.tool()
    @flows.oauth("acme", scopes=["files.read"], message="To list your files.")
    async def list_files(account: Completed) -> str:
        """List the user's files."""
        token = await elicit.token(account)
        async with httpx2.AsyncClient(headers={"Authorization": token.authorization}) as acme:
            try:
                answer = (await acme.get(f"{SANDBOX}/acme/api/files")).raise_for_status()
            except httpx2.HTTPError as error:
                return f"done: connected, but Acme Drive does not list its files ({error})"
        return "done: " + ", ".join(file["name"] for file in answer.json()["files"])

    @app.tool()
    @flows.payment(500, "usd", description="A report")
    async def buy_report(paid: Completed) -> str:
        """Sell the user a report for 5.00 USD."""
        return f"done: the report is yours, by payment {paid.payment}"

    @app.tool()
    @flows.credentials(KEY, message="The key is kept for you; no model sees it.")
    async def store_api_key(kept: Completed) -> str:
        """Let the user hand over an API key."""
        return f"done: kept as {kept.connection}"

    @flows.tool(app)
    @flows.confirm("Delete all your files?", words={"danger": True})
    async def wipe_files() -> str:
        """Delete all of the user's files."""
        return "done: all files are deleted"

    @app.tool()
    @flows.form(Plan, message="Which plan would you like?")
    async def choose_plan(chosen: Answered[Plan]) -> str:
        """Let the user choose a plan."""
        return f"done: the plan is {chosen.data.plan}"

    @app.tool()
    @flows.url_action(f"{SANDBOX}/terms", message="Please read and accept the terms.")
    async def accept_terms() -> str:
        """Let the user accept the terms."""
        return "done: the terms are accepted"

    return app


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--port", type=int, default=3000)
    options.add_argument("--user", nargs=2, metavar=("ISS", "SUB"))
    options.add_argument("--stdio", action="store_true")
    given = options.parse_args()
    if given.stdio and not given.user:
        options.error("--stdio needs --user: nobody signs in there.")
    made = server(given.port, given.user and tuple(given.user))
    if given.stdio:
        made.run("stdio")
    else:
        made.run("streamable-http", host="127.0.0.1", port=given.port)
