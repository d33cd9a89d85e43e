"""One chat: a user's message begins a turn, in which a tool asks for what it needs through the bridge."""

from __future__ import annotations

import asyncio
import time
import uuid
from functools import partial
from typing import Any

import httpx2

from ahp.channels import Channels
from ahp.state import Json, now
from ahp.tools import Tool
from elicit_flows.sdk import (
    Cancelled,
    Claim,
    Completed,
    Declined,
    Elicit,
    Elicitation,
    ElicitError,
    Expired,
    Failed,
    Outcome,
)
from elicit_flows.sdk.ahp import AhpInputBridge, ToolCall

KEPT = 1000  # characters of a message that are stored for a later process


class Chat:
    def __init__(
        self, uri: str, session: str, channels: Channels, elicit: Elicit, user: Claim, tools: dict[str, Tool]
    ) -> None:
        self.uri = uri
        self._session = session
        self._channels = channels
        self._elicit = elicit
        self._tools = tools
        self._bridge = AhpInputBridge(elicit, user, uri, self._publish, host="example")
        self._turn: asyncio.Task[None] | None = None

    def _publish(self, action: Json) -> None:
        """Publish the host's own action. Actions that do not belong to the chat belong to its session."""
        self._channels.publish(self.uri if action["type"].startswith("chat/") else self._session, action)

    async def take(self, action: Json, origin: Json) -> None:
        """Apply a client's action and echo it, with the reason if it is rejected."""
        echo = partial(self._channels.publish, self.uri, action, origin)
        kind = str(action.get("type"))
        active = self._channels[self.uri].get("activeTurn", {}).get("id")
        if kind == "chat/turnStarted":
            reason = _no_message(action) or ("A turn is under way." if active else None)
            echo(reason)
            if reason is None:
                self._turn = asyncio.create_task(self._run(action["turnId"], action["message"]["text"]))
        elif kind == "chat/turnCancelled" and active and active == action.get("turnId"):
            echo(None)
            if self._turn:
                self._turn.cancel()
            await self._bridge.turn_ended()
        elif kind.startswith("chat/input"):
            echo(await self._bridge.apply(action, origin["clientId"]))
        else:
            echo("That is nothing to be done here now.")

    async def resume(self) -> None:
        """Continue the questions of an earlier process. The elicitation's metadata has everything that a turn needs."""
        for asked in (await self._bridge.unfinished())[-1:]:  # a chat has one turn at a time
            turn, text = asked.metadata["turn"], asked.metadata["text"]
            message = {"text": text, "origin": {"kind": "user"}}
            self._publish({"type": "chat/turnStarted", "turnId": turn, "startedAt": now(), "message": message})
            self._turn = asyncio.create_task(self._run(turn, text, asked))

    async def _run(self, turn: str, text: str, asked: Elicitation | None = None) -> None:
        began = time.monotonic()
        try:
            answer = await self._answer(turn, text, asked)
        except ElicitError as error:
            answer = f"waiting: {error.detail}"
        except httpx2.HTTPError:
            answer = "waiting: the tool's own service does not answer."
        part = {"kind": "markdown", "id": uuid.uuid4().hex, "content": answer}
        self._publish({"type": "chat/responsePart", "turnId": turn, "part": part})
        duration = int((time.monotonic() - began) * 1000)
        self._publish({"type": "chat/turnComplete", "turnId": turn, "duration": duration})
        await self._bridge.turn_ended()

    async def _answer(self, turn: str, text: str, asked: Elicitation | None) -> str:
        name = next((one for one in self._tools if one in text), None)
        if name is None:
            return f"waiting: name one of {', '.join(self._tools)}."
        tool = self._tools[name]
        call = self._start_call(turn, name, tool) if tool.mcp else None
        if asked:
            outcome = await self._bridge.follow(asked, call)
        else:
            asks = self._bridge.during(call) if call else self._bridge
            outcome = await tool.ask(asks, metadata={"turn": turn, "text": text[:KEPT]})
        said = await self._said(tool, outcome)
        if call:
            self._end_call(call, said)
        return said

    async def _said(self, tool: Tool, outcome: Outcome) -> str:
        match outcome:
            case Completed():
                return f"done: {await tool.work(self._elicit, outcome)}"
            case Declined():
                return "declined: then not."
            case Cancelled():
                return "cancelled: it was taken back."
            case Expired():
                return "cancelled: nobody answered in time."
            case Failed(message=message):
                return f"cancelled: {message}"

    def _start_call(self, turn: str, name: str, tool: Tool) -> ToolCall:
        call = ToolCall(turn, uuid.uuid4().hex, tool.mcp or "")
        contributor = {"kind": "mcp", "customizationId": "acme"}
        self._of_call("Start", call, toolName=name, displayName=name.replace("_", " "), contributor=contributor)
        self._of_call("Ready", call, invocationMessage=f"Calling {name}", confirmed="not-needed")
        return call

    def _end_call(self, call: ToolCall, said: str) -> None:
        success = said.startswith("done:")
        result = {"success": success, "pastTenseMessage": said} | ({} if success else {"error": {"message": said}})
        self._of_call("Complete", call, result=result)

    def _of_call(self, what: str, call: ToolCall, **more: Any) -> None:
        self._publish({"type": f"chat/toolCall{what}", "turnId": call.turn, "toolCallId": call.id, **more})


def _no_message(action: Json) -> str | None:
    message = action.get("message")
    good = isinstance(message, dict) and isinstance(message.get("text"), str) and isinstance(action.get("turnId"), str)
    return None if good else "Give a turnId and a message with a text."
