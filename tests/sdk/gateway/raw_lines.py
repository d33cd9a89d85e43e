"""A client of the gateway that writes its lines by hand."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import StdioServerParameters
from mcp.client.stdio import get_default_environment

from tests.sdk.mcp.clients import MODERN

ABOUT = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}}
Json = dict[str, Any]


class Raw:
    """``heard``: the notifications, in their order, and the ids of the answers that nobody waited for."""

    def __init__(self, process: asyncio.subprocess.Process, era: str) -> None:
        self.process, self.era = process, era
        self.ids, self.heard = itertools.count(1), []
        self._waiting: dict[Any, asyncio.Future[Json]] = {}

    def line(self, method: str, params: Json, request: int | str | None = None) -> str:
        if request is not None and self.era == MODERN:
            params = {**params, "_meta": {**ABOUT, **params.get("_meta", {})}}
        numbered = {"id": request} if request is not None else {}
        return json.dumps({"jsonrpc": "2.0", **numbered, "method": method, "params": params})

    def write(self, line: str | bytes) -> None:
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")

    def answer(self, request: int | str | None) -> asyncio.Future[Json]:
        self._waiting[request] = asyncio.get_running_loop().create_future()
        return self._waiting[request]

    async def ask(self, method: str, params: Json | None = None, request: int | str | None = None) -> Json:
        request = next(self.ids) if request is None else request
        answer = self.answer(request)
        self.write(self.line(method, params or {}, request))
        return await asyncio.wait_for(answer, 60)

    async def call(self, tool: str, arguments: Json | None = None, **more: Any) -> Json:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, **more)

    async def said(self, line: str | bytes, request: int | str | None) -> Json:
        """What is answered to a line."""
        answer = self.answer(request)
        self.write(line)
        return await asyncio.wait_for(answer, 60)

    async def read(self) -> None:
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            waiting = None if "method" in message else self._waiting.pop(message.get("id"), None)
            if waiting is None:
                self.heard.append(message)
            elif not waiting.done():
                waiting.set_result(message)
        for waiting in self._waiting.values():
            waiting.cancel("The gateway has ended.")


@asynccontextmanager
async def lines(started: StdioServerParameters, era: str) -> AsyncIterator[Raw]:
    """A client that has seen the tools. What it calls then can be passed on at once."""
    process = await asyncio.create_subprocess_exec(
        started.command,
        *started.args,
        env=get_default_environment() | started.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    raw = Raw(process, era)
    reading = asyncio.create_task(raw.read())
    try:
        if era != MODERN:
            await raw.ask("initialize", HELLO)
            raw.write(raw.line("notifications/initialized", {}))
        await raw.ask("tools/list")
        yield raw
    finally:
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 30)
        await reading


def text(answer: Json) -> str:
    return str(answer["result"]["content"][0]["text"])
