"""An MCP server for the tests: ``python -m tests.reviewed.agents.server`` with TOOLS, as tests/sdk/mcp/tools.py has it.

It runs on FastMCP where that is installed. ``name`` is the server's, ``hidden``: the tool files is until its account is
connected. Its tools write a line for each time they really run.
"""

from __future__ import annotations

import asyncio
import json
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from elicit_flows.sdk.mcp import McpFlows

TOLD = json.loads(os.environ["TOOLS"])
if find_spec("fastmcp"):
    app = import_module("fastmcp").FastMCP(TOLD.get("name", "tools"))
else:
    app = import_module("mcp.server.mcpserver").MCPServer(TOLD.get("name", "tools"))
flows = McpFlows(user=tuple(TOLD["user"]), **TOLD.get("settings", {}))


def ran(what: str) -> str:
    with Path(TOLD["ran"]).open("a") as log:
        log.write(f"{what}\n")
    return f"done: {what}"


@app.tool()
@flows.confirm("Wipe it?")
async def wipe(disk: str = "a") -> str:
    return ran(f"wiped {disk}")


@app.tool()
@flows.confirm("First?")
@flows.confirm("Second?")
@flows.confirm("Third?")
async def thrice(disk: str = "a") -> str:
    return ran(f"thrice {disk}")


@app.tool()
@flows.confirm("Take long?")
async def slow(seconds: float) -> str:
    ran("slow began")
    await asyncio.sleep(seconds)
    return ran("slow ended")


@app.tool()
@flows.confirm("As a table?")
async def as_dict() -> dict[str, int]:
    ran("as_dict")
    return {"pages": 1}


@app.tool()
@flows.oauth("acme")
async def files() -> str:
    return ran("listed")


@app.tool()
async def plain() -> str:
    return ran("plain")


if TOLD.get("hidden"):
    app.add_middleware(flows.hidden_until("acme", "files"))


if __name__ == "__main__":
    app.run("streamable-http", host="127.0.0.1", port=TOLD["port"])
