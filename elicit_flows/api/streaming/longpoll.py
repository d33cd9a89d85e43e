"""GET /v1/elicitations/{id}?wait=: answers when something changes, or when the time is up."""

from __future__ import annotations

import time
from functools import partial

from django.conf import settings

from elicit_flows import elicitations
from elicit_flows.api import responses
from elicit_flows.api.owned_rows import own_elicitation
from elicit_flows.api.reads import ElicitationState
from elicit_flows.api.streaming.broker import Asker, Broker
from elicit_flows.api.streaming.subscriptions import Watch
from elicit_flows.domain.errors import Invalid
from elicit_flows.lib.wsgi_bridge import Send, respond

Query = dict[str, list[str]]
OVERDUE = 2.0  # seconds between two reads of what is overdue and has not expired: its payment page is still open


async def elicitation(hub: Broker, asker: Asker, elicitation_id: str, query: Query, send: Send) -> None:
    """The elicitation as soon as its seq is above ``after_seq`` or it is over; unchanged after ``wait`` seconds."""
    wait, after_seq = seconds(query), number(query, "after_seq")
    del query
    async with hub.watching(asker) as watch:
        body = await _wait(hub, watch, asker.agent_id, elicitation_id, wait, after_seq)
    await respond(send, 200, responses.JSON_HEADERS, body)


async def _wait(
    hub: Broker, watch: Watch, agent_id: int, elicitation_id: str, wait: int, after_seq: int | None
) -> bytes:
    end = time.monotonic() + wait
    with watch.waiting_for(elicitation_id) as waiter:  # subscribe first, so that no change is missed
        said = await _read(hub, agent_id, elicitation_id)
        floor = said.seq if after_seq is None else after_seq
        while said.seq <= floor and not said.over and time.monotonic() < end:
            left = said.time_left()
            news = await waiter.news(min(end - time.monotonic(), left if left > 0 else OVERDUE))
            if news and news["seq"] > said.seq:  # the watch may be behind the row
                whole = "params" in news  # for a draft, the news contain only its seq
                said = said.followed_by(news) if whole else await _read(hub, agent_id, elicitation_id)
            elif said.time_left() <= 0:
                said = await _read(hub, agent_id, elicitation_id)  # this expires it
    return said.body


async def _read(hub: Broker, agent_id: int, elicitation_id: str) -> ElicitationState:
    """Raises NotFound."""
    said = await hub.reads.elicitations.load((agent_id, elicitation_id))
    if said is None:
        said = await hub.run(partial(_expired, agent_id, elicitation_id))
    return said


def _expired(agent_id: int, elicitation_id: str) -> ElicitationState:
    """The elicitation, which expires if it is time."""
    row = own_elicitation(agent_id, elicitation_id)
    elicitations.expire(row)
    return ElicitationState.of(row)


def seconds(query: Query) -> int:
    """``wait`` in seconds, at most ELICIT_MAX_WAIT. Raises Invalid."""
    return min(number(query, "wait") or 0, settings.ELICIT_MAX_WAIT)


def number(query: Query, name: str) -> int | None:
    """A whole number from the query, None if it is absent. Raises Invalid."""
    values = query.get(name)
    if values is None:
        return None
    if not values[0].isascii() or not values[0].isdecimal() or len(values[0]) > 9:
        raise Invalid.at(f"query.{name}", "This must be a whole number, 0 or more.")
    return int(values[0])
