"""A server for behind the gateway, which knows nothing of guards. BEHIND has the file for what its tools really did."""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer, ResourceSecurity
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

app = MCPServer("behind", instructions="Be careful.")


def ran(what: str) -> str:
    with Path(os.environ["BEHIND"]).open("a") as log:
        log.write(f"{what}\n")
    return f"done: {what}"


@app.tool()
async def wipe(path: str = "a") -> str:
    return ran(f"wiped {path}")


@app.tool()
async def look() -> str:
    return "seen"


@app.tool()
async def request(context: Context) -> str:
    """Answers with the id of its own call."""
    return str(context.request_id)


@app.tool()
async def use(context: Context, what: str, token: str = "", plan: str = "") -> str:
    """Answers with what it got, token and all, and says so before."""
    await context.report_progress(1, 2, f"With {token}.")
    ran(f"used {what} {token} {plan}")
    return f"with {token} as {json.dumps({'token': token})}"


@app.tool()
async def environment() -> dict[str, str]:
    return dict(os.environ)


@app.tool()
async def headers(context: Context) -> str:
    ran(f"headers {context.headers.get('authorization')}")
    return "seen"


@app.tool()
async def slow(context: Context, steps: int) -> str:
    ran("slow began")
    try:
        for step in range(steps):
            await context.report_progress(step, steps, f"step {step}")
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        ran("slow cancelled")
        raise
    return ran("slow ended")


@app.tool()
async def grow(context: Context) -> str:
    """Says that its list is another one."""
    await context.session.send_tool_list_changed()
    return "grown"


@app.tool()
async def aside(context: Context) -> str:
    """Says how far it is, but not on the stream of the call."""
    await context.session.send_progress_notification(context.request_context.meta["progress_token"], 1)
    await asyncio.sleep(0.3)
    return "done aside"


@app.prompt()
async def plan(topic: str, key: str = "") -> str:
    ran(f"planned {topic} {key}")
    return f"Plan {topic}."


@app.prompt()
async def greet() -> str:
    return "Greet."


@app.resource("notes://desk/secret.txt")
async def secret() -> str:
    return ran("read the secret")


@app.resource("notes://desk/open.txt")
async def opened() -> str:
    return "open"


@app.resource("notes://desk/files/{name}", security=ResourceSecurity(exempt_params={"name"}))
async def one_file(name: str) -> str:
    """A server that takes any spelling."""
    return ran(f"read {name}")


class Colour(BaseModel):
    colour: str


@app.tool()
async def asks(context: Context) -> str | InputRequiredResult:
    """Asks for a colour, in the way of the client's era."""
    if context.protocol_version < "2026":
        given = await context.elicit("Which colour?", Colour)
        return f"{given.data.colour}"
    if context.input_responses:
        return f"{context.input_responses['colour'].content['colour']}"
    asked = ElicitRequestFormParams(message="Which colour?", requested_schema=Colour.model_json_schema())
    return InputRequiredResult(input_requests={"colour": ElicitRequest(params=asked)})


@app.tool()
async def process() -> int:
    return os.getpid()


@app.tool()
async def leave() -> str:
    os._exit(1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        app.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        app.run("stdio")
