"""A client on FastMCP 4, of both revisions, which is told and prints what mcp_host.mjs says, but for ``held``."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from mcp.shared.exceptions import MCPError
from mcp_types import URL_ELICITATION_REQUIRED, ElicitCompleteNotification, Implementation

TOLD = json.loads(sys.argv[1])
FINISHED = set()


def say(**line):
    print(json.dumps(line), flush=True)


async def elicit(message, response_type, params, context):
    say(link=params.url, id=getattr(params, "elicitation_id", None))
    return ElicitResult(action=TOLD["action"])


async def hear(message):
    if isinstance(message, ElicitCompleteNotification):
        say(complete=message.params.elicitation_id)
        FINISHED.add(message.params.elicitation_id)


async def progressed(progress, total, message):
    say(progress=progress, message=message)


async def answer(client):
    more = {"timeout": TOLD["timeout"] / 1000} if "timeout" in TOLD else {}
    more |= {"progress_handler": progressed} if TOLD.get("progress") else {}
    while True:
        try:
            result = await client.call_tool(TOLD["tool"], TOLD["arguments"], raise_on_error=False, **more)
        except MCPError as error:
            if error.error.code != URL_ELICITATION_REQUIRED:
                raise
            asked = error.error.data["elicitations"]
            for one in asked:
                say(refused=one["url"], id=one["elicitationId"])
            while not FINISHED.issuperset(one["elicitationId"] for one in asked):
                await asyncio.sleep(0.02)
            continue
        text = result.content[0].text
        if not (TOLD.get("patient") and text.startswith("waiting:")):
            return {"text": text, "isError": result.is_error}


async def main():
    more = {"elicitation_handler": elicit} if TOLD["links"] else {}
    more["mode"] = "legacy" if TOLD["version"] == "2025-11-25" else TOLD["version"]
    more["client_info"] = Implementation(name=f"fastmcp {TOLD['version']}", version="1")
    async with Client(TOLD["urls"][0], message_handler=hear, **more) as client:
        say(version=client.protocol_version)
        try:
            say(**await answer(client))
        except MCPError as error:
            say(error=str(error), code=error.error.code)


asyncio.run(main())
