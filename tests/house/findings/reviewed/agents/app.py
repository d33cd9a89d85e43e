"""An app on the PyPI SDK: ``python -m tests.reviewed.agents.app ISS SUB NAME`` with ELICIT_URL and ELICIT_API_KEY."""

from __future__ import annotations

import asyncio
import sys

from tesseron import ActionContext, JsonValue, TesseronApp

from elicit_flows.sdk.tesseron import TesseronFlows

ISS, SUB, NAME = sys.argv[1:]
TIMEOUT_MS = 1500
app = TesseronApp(id=NAME, name=NAME.title())
flows = TesseronFlows((ISS, SUB))


@app.action("agree", timeout_ms=TIMEOUT_MS)
async def agree(given: JsonValue, ctx: ActionContext) -> JsonValue:
    return await flows.on(ctx, given, timeout_ms=TIMEOUT_MS).agreed("Shall I?")


async def main() -> None:
    host = await app.listen()
    print(f"listening {host.url}", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
