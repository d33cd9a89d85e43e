"""MCP 2025-11-25: the server asks the client during the call, and notifies it when the user has finished.

If the call has to end before that, the notification is sent later, and the client calls again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.idempotency import taken_back
from elicit_flows.sdk.mcp.calls import LIBRARY_ERROR, Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.followers import Follower
from elicit_flows.sdk.mcp.pending_question import PendingQuestion, is_no, until_a_no
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.outcomes import Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires.reply import ACCEPT

log = logging.getLogger(__name__)


async def asked(
    asker: Asker, call: Call, questions: Sequence[PendingQuestion], rest: Sequence[PendingQuestion]
) -> dict[int, Outcome] | list[Elicitation]:
    """How ``questions`` ended, by place: all of them, or else one is a no. The open ones if the call ends before that.

    ``rest``: the questions that this call will ask afterwards: a refusal has to name them all. Raises the library's
    -32042.
    """
    elicit, settings, followers = asker.elicit(), asker.settings, asker.followers
    seen = {one.place: await one.ask(elicit) for one in questions}
    ended = {one.place: await one.outcome(elicit, seen[one.place]) for one in questions if seen[one.place].over}
    waiting = {place: one for place, one in seen.items() if place not in ended}
    if not waiting or any(map(is_no, ended.values())):
        return ended
    way = settings.way(call.client, call.client_version, call.opens_links)
    if way == "refuse":
        raise call.no_links()
    if way == "link":
        return list(waiting.values())
    if settings.push:
        pushed = {
            place: _pushed(elicit, settings, call, followers.follow(elicit, call, one), one)
            for place, one in waiting.items()
        }
        async with call.awaited(settings):
            found = await until_a_no(pushed)
        ended |= {place: one for place, one in found.items() if isinstance(one, Outcome)}
        if any(map(is_no, ended.values())):
            return ended
        return [one for place, one in waiting.items() if place not in ended] or ended
    needed = [*waiting.values(), *[one for pending in rest if not (one := await pending.ask(elicit)).over]]
    for one in needed:
        followers.follow(elicit, call, one)
    raise call.required(asdict(one) for one in needed)


async def _pushed(
    elicit: Elicit, settings: Settings, call: Call, follower: Follower, seen: Elicitation
) -> Outcome | Elicitation:
    if not call.left(settings):
        return seen
    answer = asyncio.ensure_future(call.push(asdict(seen)))
    try:
        with follower.attended():
            async with asyncio.timeout(call.left(settings)):
                await asyncio.wait({answer, follower.over}, return_when=asyncio.FIRST_COMPLETED)
                if not follower.over.done() and (reply := answer.result()).action != ACCEPT:
                    follower.told = True  # the client knows, since it was the client's own answer
                    return await taken_back(elicit, seen, reply.action)
                ended = await asyncio.shield(follower.over)
            await follower.tell(ended, within=call)
    except TimeoutError:
        return seen
    except LIBRARY_ERROR as refused:
        log.warning("the client cannot be asked to open a link: %s", refused)
        return seen
    finally:
        answer.cancel()
    return outcome_of(ended)
