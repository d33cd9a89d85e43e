"""An app on the PyPI SDK with an action for everything that ``flows.on(ctx)`` has beside the links.

``python -m tests.sdk.tesseron.app ISS SUB`` with ELICIT_URL and ELICIT_API_KEY. TIMEOUT_MS: of each action. SHOWN: the
file in which this app shows its links; without it the host is to.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from pydantic import BaseModel, Field
from tesseron import ActionContext, JsonValue, TesseronApp

from elicit_flows.sdk.tesseron import TesseronFlows

TIMEOUT_MS = int(os.environ.get("TIMEOUT_MS", "30000"))
SHOWN = os.environ.get("SHOWN")
app = TesseronApp(id="asking", name="Asking")


async def show(url: str) -> None:
    assert SHOWN
    Path(SHOWN).write_text(url)


flows = TesseronFlows((sys.argv[1], sys.argv[2]), app=os.environ.get("APP", "asking"), show=show if SHOWN else None)


class Order(BaseModel):
    plan: str = Field(pattern="^(free|pro)$")
    seats: int = 1


@app.action("agree", timeout_ms=TIMEOUT_MS)
async def agree(given: JsonValue, ctx: ActionContext) -> JsonValue:
    return await flows.on(ctx, given, timeout_ms=TIMEOUT_MS).agreed("Shall I?")


@app.action("answer", timeout_ms=TIMEOUT_MS)
async def answer(given: JsonValue, ctx: ActionContext) -> JsonValue:
    assert isinstance(given, dict)
    return await flows.on(ctx, given, timeout_ms=TIMEOUT_MS).elicit("Which one?", given["schema"])


@app.action("order", timeout_ms=TIMEOUT_MS)
async def order(given: JsonValue, ctx: ActionContext) -> JsonValue:
    found = await flows.on(ctx, given, timeout_ms=TIMEOUT_MS).elicit_as(Order, "What would you like?")
    return None if found is None else f"{type(found).__name__} {found.plan} {found.seats + 1}"


@app.action("wizard", timeout_ms=TIMEOUT_MS)
async def wizard(given: JsonValue, ctx: ActionContext) -> JsonValue:
    ask = flows.on(ctx, given, timeout_ms=TIMEOUT_MS)
    first = await ask.elicit_as(Order, "What would you like?")
    return first is not None and await ask.agreed(f"{first.seats} seats, {first.plan}?")


@app.action("twice", timeout_ms=TIMEOUT_MS)
async def twice(given: JsonValue, ctx: ActionContext) -> JsonValue:
    await flows.on(ctx, given, timeout_ms=TIMEOUT_MS).elicit_as(Order, "The first?")
    await flows.on(ctx, given, timeout_ms=TIMEOUT_MS).elicit_as(Order, "The second?")
    return "both"


@app.action("connect", timeout_ms=TIMEOUT_MS)
async def connect(given: JsonValue, ctx: ActionContext) -> JsonValue:
    await flows.on(ctx, given, timeout_ms=TIMEOUT_MS).oauth("acme", scopes=["files.read"], reuse="never")
    return "connected"


async def main() -> None:
    host = await app.listen()
    print(f"listening {host.url}", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
