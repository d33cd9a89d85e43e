"""An MCP server of the library ``mcp`` whose tools ask in every way that a client has to bear.

``python -m tests.sdk.hosts.server PORT KEY``: servers with the same key take each other's states.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.types import InputRequiredResult

from elicit_flows.sdk import Elicit
from elicit_flows.wires import mcp_2026_07_28 as wire

PORT, KEY = int(sys.argv[1]), sys.argv[2]
PLAN = {
    "type": "object", "required": ["plan"],
    "properties": {"plan": {"type": "string", "enum": ["free", "pro"]}, "seats": {"type": "integer"}},
}  # fmt: skip

app = MCPServer("Rounds", request_state_security=RequestStateSecurity(keys=[KEY]))


def form(message: str, schema: Any = PLAN) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def needed(state: str | None = None, **requests: Any) -> Any:
    members = {"inputRequests": requests or None, "requestState": state}
    return InputRequiredResult.model_validate({name: value for name, value in members.items() if value is not None})


def content(ctx: Context, key: str) -> Any:
    answer: Any = (ctx.input_responses or {}).get(key)
    return answer and (answer.content if answer.action == "accept" else answer.action)


@app.tool()
async def plain(word: str) -> str:
    """Asks nothing."""
    return f"plain {word}"


@app.tool(structured_output=True)
async def lookalike() -> dict[str, Any]:
    """Its own result has the members of the other kind."""
    return {"resultType": "input_required", "inputRequests": {"a": form("Not for you")}, "requestState": "s"}


@app.tool()
async def choose(word: str, ctx: Context) -> Any:
    """One form, without a state."""
    if ctx.input_responses is None:
        return needed(one=form("Which plan?"))
    return f"{word} {content(ctx, 'one')} {ctx.request_state}"


@app.tool()
async def both(ctx: Context) -> Any:
    """Two forms in one round."""
    if ctx.input_responses is None:
        return needed("asked", first=form("The first?"), second=form("The second?"))
    return f"{content(ctx, 'first')} {content(ctx, 'second')} {ctx.request_state}"


@app.tool()
async def count(to: int, ctx: Context) -> Any:
    """One form after the other; the state says how many there were, and on which server each was answered."""
    *ports, last = [*(ctx.request_state or "").split(), str(PORT)]
    if len(ports) == to:
        return f"answered at {' '.join([*ports[1:], last])}"
    return needed(" ".join([*ports, last]), **{f"q{len(ports)}": form(f"Number {len(ports)}?")})


@app.tool()
async def idle(times: int, ctx: Context) -> Any:
    """Needs time, and nothing else."""
    done = int(ctx.request_state or 0)
    return "rested" if done == times else needed(str(done + 1))


@app.tool()
async def endless(ctx: Context) -> Any:
    """Asks for ever."""
    return needed("more", again=form("Again?"))


@app.tool()
async def visit(iss: str, sub: str, ctx: Context) -> Any:
    """A link of the service's, waited for in the retry."""
    async with Elicit() as elicit:
        if ctx.request_state is None:
            asked = await elicit.create("confirm", (iss, sub), {}, message="May I?")
            body = {"id": asked.id, "status": asked.status, "message": asked.message, "url": asked.url}
            return InputRequiredResult.model_validate({**wire.message(body), "requestState": asked.id})
        seen = await elicit.wait(ctx.request_state, timeout=10)
    return f"visited: {seen.status.value}"


asyncio.run(app.run_streamable_http_async(host="127.0.0.1", port=PORT))
