"""MCP 2026-07-28: the call is answered with a request for input, and is sent again with ``requestState``.

The user is asked once. The repeated call waits here for less than its client's time-out, and then gets an answer
without a question, so the client calls again; clients give up after about ten of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.idempotency import taken_back
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.pending_question import PendingQuestion, is_no, until_a_no
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires.reply import ACCEPT


async def asked(
    elicit: Elicit, settings: Settings, call: Call, questions: Sequence[PendingQuestion], state: Json | None
) -> dict[int, Outcome] | list[Elicitation] | Any:
    """How ``questions`` ended, by place: all of them, or else one is a no. The open ones if the call ends before that;
    or else the result that the call is answered with.

    ``state``: what this server sent with its last answer, None for a question that this cannot be about.
    """
    known = (state or {}).get("asked", {})
    before = state if state and any(str(one.place) in known for one in questions) else {}
    agreed, seen, ended = set(before.get("agreed", [])), dict[int, Elicitation](), dict[int, Outcome]()
    for one in questions:
        found = await _seen(elicit, call, one, known.get(str(one.place)))
        seen[one.place] = found
        reply = call.reply(found.id) if str(one.place) in known and not found.over else None
        if found.over:
            ended[one.place] = await one.outcome(elicit, found)
        elif reply and reply.action != ACCEPT:
            ended[one.place] = await taken_back(elicit, found, reply.action)
        elif reply:
            agreed.add(found.id)
    if not any(map(is_no, ended.values())) and all(one.over or one.id in agreed for one in seen.values()):

        async def answered(one: PendingQuestion) -> Outcome | Elicitation:
            last = await elicit.wait(seen[one.place], timeout=call.left(settings))
            return await one.outcome(elicit, last) if last.over else last

        async with call.awaited(settings):
            found_out = await until_a_no({one.place: answered(one) for one in questions if one.place not in ended})
        ended |= {place: one for place, one in found_out.items() if isinstance(one, Outcome)}
    left = [one for place, one in seen.items() if place not in ended]
    if not left or any(map(is_no, ended.values())):
        return ended
    later: Json = {
        **before,
        **questions[0].chain,
        "asked": {str(place): one.id for place, one in seen.items()},
        "agreed": sorted(agreed),
        "round": before.get("round", 0) + 1,
    }
    if not known.keys() >= later["asked"].keys():
        return _first(settings, call, left, later)
    if later["round"] > settings.rounds:
        return left
    asks = [one for one in left if one.id not in agreed]
    return call.ask(asks, later) if asks else call.put_off(later)


async def _seen(elicit: Elicit, call: Call, pending: PendingQuestion, known: str | None) -> Elicitation:
    """The question as it stands. ``known``: its id, if it was asked in an earlier round. Raises the library's error."""
    seen = await pending.ask(elicit) if known is None else await pending.again(elicit, known)
    if seen is None:
        raise call.bad_state()
    return seen


def _first(settings: Settings, call: Call, asked: list[Elicitation], state: Json) -> Any:
    way = settings.way(call.client, call.client_version, call.opens_links)
    if way == "refuse":
        raise call.no_links()
    if way == "link":
        return asked
    call.attempt.waits(asked, state)
    return call.ask(asked, state)
