"""The client that MCP's conformance suite tests: an agent that asks for a connection to the suite's server, a person
who agrees, or says no if that leads nowhere, and a call of a tool. The suite gives the server's address.
"""

from __future__ import annotations

import asyncio
import os
import sys

from mcp import Client

from elicit_flows.sdk import Completed, Elicit, Outcome
from elicit_flows.sdk.mcp import transport
from tests.cast import ALICE
from tests.support.http_user import HttpUser


async def main(url: str) -> int:
    """0 if every tool was called. What the service or the person refuses is a failure."""
    user = HttpUser()

    def press_on(link: str) -> None:
        user.open(link)
        user.carry_on("signin", "alice", "continue", "allow", "same")
        user.open(link)
        if "decline" in user.actions():  # they got nowhere, and the agent need not wait until it is out of time
            user.press("decline")

    async def go(link: str) -> None:
        await asyncio.to_thread(press_on, link)

    async with Elicit() as elicit:

        async def ask(scopes: tuple[str, ...]) -> Outcome:
            who = (os.environ["CORP_ISSUER"], ALICE.sub)
            return await elicit.oauth(who, mcp=url, scopes=scopes, reuse="never", on_url=go, timeout=8)

        outcome = await ask(())
        if not isinstance(outcome, Completed):
            print(outcome)
            return 1
        async with Client(transport(elicit, outcome, ask=ask)) as client:
            for tool in (await client.list_tools()).tools:
                await client.call_tool(tool.name, {})
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
