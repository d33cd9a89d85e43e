"""A client on ``mcp`` 1.30, which is told and prints what mcp_host.mjs says, but for ``held``."""

import asyncio
import json
import sys
from datetime import timedelta

from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError, UrlElicitationRequiredError

TOLD = json.loads(sys.argv[1])
FINISHED = set()


def say(**line):
    print(json.dumps(line), flush=True)


async def elicit(context, params):
    say(link=params.url, id=params.elicitationId)
    return types.ElicitResult(action=TOLD["action"])


async def hear(message):
    notice = getattr(message, "root", None)
    if isinstance(notice, types.ElicitCompleteNotification):
        say(complete=notice.params.elicitationId)
        FINISHED.add(notice.params.elicitationId)


async def answer(session):
    limit = timedelta(milliseconds=TOLD["timeout"]) if "timeout" in TOLD else None
    while True:
        try:
            result = await session.call_tool(TOLD["tool"], TOLD["arguments"], read_timeout_seconds=limit)
        except McpError as error:
            if error.error.code != types.URL_ELICITATION_REQUIRED:
                raise
            asked = UrlElicitationRequiredError.from_error(error.error).elicitations
            for one in asked:
                say(refused=one.url, id=one.elicitationId)
            while not FINISHED.issuperset(one.elicitationId for one in asked):
                await asyncio.sleep(0.02)
            continue
        text = result.content[0].text
        if not (TOLD.get("patient") and text.startswith("waiting:")):
            return {"text": text, "isError": result.isError}


async def main():
    more = {"elicitation_callback": elicit} if TOLD["links"] else {}
    async with (
        streamable_http_client(TOLD["urls"][0]) as (read, write, _),
        ClientSession(read, write, message_handler=hear, **more) as session,
    ):
        say(version=(await session.initialize()).protocolVersion)
        try:
            say(**await answer(session))
        except McpError as error:
            say(error=str(error), code=error.error.code)


asyncio.run(main())
