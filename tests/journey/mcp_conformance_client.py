"""The client that MCP's conformance suite tests: an agent on this service. The suite appends the server's address.

ELICIT_URL and ELICIT_API_KEY say where the service is, ELICIT_ISSUER whose user alice is. She allows whatever is asked,
without a browser.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress

from mcp import Client, MCPError

from elicit_flows.sdk import Elicit, Outcome, StillWaiting
from elicit_flows.sdk.mcp import transport
from tests.support.http_user import HttpUser

SERVER = sys.argv[-1]
ALICE = (os.environ["ELICIT_ISSUER"], "alice")
MOST = 3  # how often she is asked for more scopes


class Agent:
    def __init__(self, elicit: Elicit) -> None:
        self.elicit, self.user, self.asked = elicit, HttpUser(), 0

    def press(self, link: str) -> None:
        self.user.open(link)
        self.user.carry_on("signin", "alice", "continue", "same")

    async def connect(self, scopes: tuple[str, ...] = ()) -> Outcome:
        async def go(link: str) -> None:
            await asyncio.to_thread(self.press, link)

        return await self.elicit.oauth(ALICE, mcp=SERVER, scopes=scopes, reuse="never", on_url=go, timeout=10)

    async def more(self, scopes: tuple[str, ...]) -> Outcome:
        self.asked += 1
        if self.asked > MOST:
            raise SystemExit(1)
        return await self.connect(scopes)


async def main() -> None:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    print("context", context, file=sys.stderr)
    async with Elicit() as elicit:
        agent = Agent(elicit)
        try:
            outcome = await agent.connect()
        except StillWaiting:
            print("refused:", agent.user.text[:500], file=sys.stderr)
            raise SystemExit(1) from None
        async with Client(transport(elicit, outcome, ask=agent.more)) as client:
            for tool in (await client.list_tools()).tools:
                with suppress(MCPError):
                    await client.call_tool(tool.name, {})


if __name__ == "__main__":
    asyncio.run(main())
