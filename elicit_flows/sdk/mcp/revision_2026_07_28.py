"""MCP 2026-07-28: the call is answered with a request for input, and is sent again with ``requestState``.

The user is asked once. The repeated call waits here for less than its client's time-out, and then gets an answer
without a question, so the client calls again; clients give up after about ten of those.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.idempotency import taken_back
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.pending_question import PendingQuestion
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires.reply import ACCEPT


async def asked(
    elicit: Elicit, settings: Settings, call: Call, pending: PendingQuestion, state: Json | None
) -> Outcome | Elicitation | Any:
    """How it ended; the elicitation if the call ends before that; or else the result that the call is answered with.

    ``state``: what this server sent with its last answer, None for a question that this cannot be about.
    """
    if state is None or state.get("place") != pending.place:
        seen = await pending.ask(elicit)
        return await pending.outcome(elicit, seen) if seen.over else _first(settings, call, pending, seen)
    again = await pending.again(elicit, state.get("id"))
    if again is None:
        raise call.bad_state()
    seen = again
    reply = call.reply(seen.id)
    if not seen.over and reply and reply.action != ACCEPT:
        return await taken_back(elicit, seen, reply.action)
    agreed = state.get("agreed") or reply is not None
    if agreed and not seen.over:
        async with call.awaited(settings):
            seen = await elicit.wait(seen, timeout=call.left(settings))
    if seen.over:
        return await pending.outcome(elicit, seen)
    if state.get("round", 0) >= settings.rounds:
        return seen
    later = {**state, "round": state.get("round", 0) + 1, "agreed": agreed}
    return call.put_off(later) if agreed else call.ask(asdict(seen), later)


def _first(settings: Settings, call: Call, pending: PendingQuestion, seen: Elicitation) -> Any:
    way = settings.way(call.client, call.client_version, call.opens_links)
    if way == "refuse":
        raise call.no_links()
    if way == "link":
        return seen
    state = {"place": pending.place, "id": seen.id, "round": 1, "agreed": False, **pending.chain}
    call.attempt.waits(seen, state)
    return call.ask(asdict(seen), state)
