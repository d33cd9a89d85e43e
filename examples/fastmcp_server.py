"""A FastMCP server whose tool connects an account, looks, and then asks about what it found.

    python examples/fastmcp_server.py --user https://id.example alice

It serves the client that starts it, on stdio; --port 3000 serves HTTP at /mcp instead. ELICIT_URL and ELICIT_API_KEY
say where the service is, SANDBOX_URL where Acme Drive is.
"""

import argparse
import os

import httpx2
from fastmcp import FastMCP
from mcp.server.request_state import RequestStateSecurity

from elicit_flows.sdk import Completed, Elicit
from elicit_flows.sdk.mcp import McpFlows, state_key

SANDBOX = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8001")


def server(user: tuple[str, str]) -> FastMCP:
    elicit = Elicit()
    flows = McpFlows(elicit, user=user)
    app = FastMCP("Files", request_state_security=RequestStateSecurity(keys=[state_key()]))
    app.add_middleware(flows.hidden_until("acme", "count_files"))

    async def files(account: Completed) -> list[str]:
        token = await elicit.token(account)
        async with httpx2.AsyncClient(headers={"Authorization": token.authorization}) as acme:
            answer = (await acme.get(f"{SANDBOX}/acme/api/files")).raise_for_status()
        return [file["name"] for file in answer.json()["files"]]

    @app.tool
    @flows.oauth("acme", scopes=["files.read"], message="To see your files.")
    async def share_files(account: Completed) -> str:
        """Share the user's files."""
        found = await files(account)
        await flows.confirm(f"Share these {len(found)} files?", words={"detail": ", ".join(found)})
        return f"done: {len(found)} files are shared"

    @app.tool
    @flows.oauth("acme", scopes=["files.read"])
    async def count_files(account: Completed) -> str:
        """Count the user's files. Listed once the account is connected."""
        return f"done: {len(await files(account))} files"

    return app


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--user", nargs=2, metavar=("ISS", "SUB"), required=True)
    options.add_argument("--port", type=int)
    given = options.parse_args()
    made = server(tuple(given.user))
    if given.port is None:
        made.run("stdio", show_banner=False)
    else:
        made.run("http", host="127.0.0.1", port=given.port, show_banner=False)
