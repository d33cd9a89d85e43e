"""An ACP agent without a model: a prompt names a tool, and the tool asks its user. It runs on stdio, as clients start
agents.

`--user ISS SUB` names the agent's user; the default is alice of `make run`. ELICIT_URL and ELICIT_API_KEY say where the
service is, SANDBOX_URL where Acme Drive and the terms are. `--port` serves WebSocket to this machine in place of stdio.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import acp
import httpx2
import uvicorn
from acp.http.asgi import create_asgi_app
from acp.schema import (
    AgentCapabilities,
    AgentMessageChunk,
    ClientCapabilities,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
)

from elicit_flows.sdk import Completed, Declined, Elicit, ElicitError, Outcome, Questions
from elicit_flows.sdk.acp import AcpFlows, UnknownAnswer

SANDBOX = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8001")
PLANS = {"type": "object", "properties": {"plan": {"type": "string", "enum": ["free", "pro"]}}, "required": ["plan"]}
KEY = {"name": "api_key", "label": "API key"}
Ask = Questions[Awaitable[Outcome]]


@dataclass
class Tool:
    """What it asks its user, and what it does afterwards. The agent may be restarted between the two."""

    ask: Callable[[Ask, dict[str, Any]], Awaitable[Outcome]]
    work: Callable[[Elicit, Completed], Awaitable[str]]


async def list_files(elicit: Elicit, connected: Completed) -> str:
    token = await elicit.token(connected)  # it stays here, and neither the client nor a model sees it
    async with httpx2.AsyncClient(headers={"Authorization": token.authorization}) as acme:
        try:
            answer = (await acme.get(f"{SANDBOX}/acme/api/files")).raise_for_status()
        except httpx2.HTTPError as error:
            return f"connected, but Acme Drive does not list its files ({error})"
    return ", ".join(file["name"] for file in answer.json()["files"])


def says(words: Callable[[Completed], str]) -> Callable[[Elicit, Completed], Awaitable[str]]:
    async def work(elicit: Elicit, completed: Completed) -> str:
        return words(completed)

    return work


TOOLS = {
    "list_files": Tool(lambda ask, more: ask.oauth("acme", scopes=["files.read"], **more), list_files),
    "buy_report": Tool(
        lambda ask, more: ask.payment(500, "usd", description="A report", **more),
        says(lambda paid: f"the report is yours, by payment {paid.payment}"),
    ),
    "store_api_key": Tool(
        lambda ask, more: ask.credentials([KEY], **more), says(lambda kept: f"kept as {kept.connection}")
    ),
    "wipe_files": Tool(
        lambda ask, more: ask.confirm("May I delete all your files?", **more), says(lambda _: "all files are deleted")
    ),
    "choose_plan": Tool(
        lambda ask, more: ask.form(PLANS, message="Which plan?", **more),
        says(lambda chosen: f"the plan is {chosen.result['content']['plan']}"),
    ),
    "accept_terms": Tool(
        lambda ask, more: ask.url_action(f"{SANDBOX}/terms", message="Our terms.", **more),
        says(lambda _: "the terms are accepted"),
    ),
}


class ExampleAgent(acp.Agent):
    """One agent for each connection."""

    def __init__(self, elicit: Elicit, user: tuple[str, str]) -> None:
        self.elicit, self.user = elicit, user
        self.turns: dict[str, set[asyncio.Task[None]]] = defaultdict(set)

    def on_connect(self, conn: acp.Client) -> None:
        self.conn = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> acp.InitializeResponse:
        self.flows = AcpFlows(self.conn, client_capabilities, self.user, self.elicit, agent="example")
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION, agent_capabilities=AgentCapabilities(load_session=True)
        )

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id=uuid.uuid4().hex)

    async def load_session(self, session_id: str, **_: Any) -> acp.LoadSessionResponse:
        """Continue the questions of earlier turns: ask them again, or use answers that came while nobody listened."""
        for asked in await self.flows.resume(session_id):
            tool = asked.elicitation.metadata["tool"]
            self.begin(session_id, asked.tool_call_id or tool, tool, asked.outcome())
        return acp.LoadSessionResponse()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> acp.PromptResponse:
        said = " ".join(block.text for block in prompt if isinstance(block, TextContentBlock))
        tool = next((name for name in TOOLS if name in said), None)
        if tool is None:
            await self.say(session_id, f"Name a tool: {', '.join(TOOLS)}.")
            return acp.PromptResponse(stop_reason="end_turn")
        call = f"{tool}-{uuid.uuid4().hex}"
        await self.conn.session_update(
            session_id, ToolCallStart(tool_call_id=call, title=tool, status="in_progress", session_update="tool_call")
        )
        asked = TOOLS[tool].ask(self.flows.in_session(session_id, call), {"metadata": {"tool": tool}})
        try:
            await self.begin(session_id, call, tool, asked)
        except asyncio.CancelledError:
            if (me := asyncio.current_task()) and me.cancelling():
                raise  # not the turn is cancelled, but the whole connection
            await self.say(session_id, "cancelled: as you wish")
            return acp.PromptResponse(stop_reason="cancelled")
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        for turn in self.turns[session_id]:
            turn.cancel()

    def begin(self, session_id: str, call: str, tool: str, asked: Awaitable[Outcome]) -> asyncio.Task[None]:
        turn = asyncio.create_task(self.answer(session_id, call, tool, asked))
        self.turns[session_id].add(turn)
        turn.add_done_callback(self.turns[session_id].discard)
        return turn

    async def answer(self, session_id: str, call: str, tool: str, asked: Awaitable[Outcome]) -> None:
        text = await self.result(tool, asked)
        status = "completed" if text.startswith("done:") else "failed"
        await self.conn.session_update(
            session_id, ToolCallProgress(tool_call_id=call, status=status, session_update="tool_call_update")
        )
        await self.say(session_id, text)

    async def result(self, tool: str, asked: Awaitable[Outcome]) -> str:
        try:
            outcome = await asked
            if isinstance(outcome, Completed):
                return f"done: {await TOOLS[tool].work(self.elicit, outcome)}"
        except UnknownAnswer as unknown:
            return f"waiting: {unknown.detail}"
        except ElicitError as error:
            return f"cancelled: {error.detail}"
        if isinstance(outcome, Declined):
            return "declined: you said no"
        return f"cancelled: the question was {outcome.elicitation.status}"

    async def say(self, session_id: str, text: str) -> None:
        await self.conn.session_update(
            session_id,
            AgentMessageChunk(content=TextContentBlock(text=text, type="text"), session_update="agent_message_chunk"),
        )


async def main() -> None:
    user = (args.user[0], args.user[1])
    async with Elicit() as elicit:
        if args.port is None:
            await acp.run_agent(ExampleAgent(elicit, user))
        else:
            await serve(lambda _: ExampleAgent(elicit, user))


async def serve(agent: Callable[[acp.Client], acp.Agent]) -> None:
    """The library's WebSocket server, which it calls experimental."""
    app = create_asgi_app(agent)

    async def no_web_pages(scope: Any, receive: Any, send: Any) -> None:
        """Every connection is taken for the user's, so refuse web pages, which send Origin."""
        if scope["type"] == "websocket" and any(name == b"origin" for name, _ in scope["headers"]):
            await send({"type": "websocket.close"})
        else:
            await app(scope, receive, send)

    await uvicorn.Server(uvicorn.Config(no_web_pages, port=args.port, log_level="warning")).serve()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--user", nargs=2, metavar=("ISS", "SUB"), default=(SANDBOX, "alice"))
    parser.add_argument("--port", type=int)
    args = parser.parse_args()
    asyncio.run(main())
