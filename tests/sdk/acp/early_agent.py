"""An agent that asks while it authenticates its user: before there is a session.

On stdio, for ISS SUB; its question is open for SECONDS.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import acp
from acp.connection import StreamEvent

from elicit_flows.sdk import Completed, Elicit
from elicit_flows.sdk.acp import AcpFlows


class EarlyAgent(acp.Agent):
    def __init__(self, elicit: Elicit) -> None:
        self.elicit = elicit
        self.request: int | str = ""

    def on_connect(self, conn: acp.Client) -> None:
        self.conn = conn

    def overhear(self, event: StreamEvent) -> None:
        """The library tells handlers no request ids; an observer sees them."""
        if event.message.get("method") == "authenticate":
            self.request = event.message["id"]

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        self.flows = AcpFlows(self.conn, client_capabilities, (sys.argv[1], sys.argv[2]), self.elicit, agent="early")
        return acp.InitializeResponse(protocol_version=acp.PROTOCOL_VERSION)

    async def authenticate(self, method_id: str, **_: Any) -> acp.AuthenticateResponse:
        asks = self.flows.in_request(self.request)
        outcome = await asks.confirm("Is it you?", expires_in=int(sys.argv[3]))
        if not isinstance(outcome, Completed):
            raise acp.RequestError.auth_required({"outcome": outcome.elicitation.status})
        return acp.AuthenticateResponse()


async def main() -> None:
    async with Elicit() as elicit:
        agent = EarlyAgent(elicit)
        await acp.run_agent(agent, observers=[agent.overhear])


asyncio.run(main())
