"""GET /v1/elicitations/{id}?wait=: answers when something changed, else when the time is up."""

from __future__ import annotations

import time

from django.conf import settings

from elicit_flows import flow
from elicit_flows.api import problems
from elicit_flows.api.find import own_elicitation
from elicit_flows.api.waiting.hub import Hub, Watch
from elicit_flows.errors import Invalid
from elicit_flows.lib import clock
from elicit_flows.lib.pooled import Send, respond
from elicit_flows.models import Agent, Elicitation
from elicit_flows.states import TERMINAL
from elicit_flows.values import Json

Query = dict[str, list[str]]


async def elicitation(hub: Hub, agent: Agent, elicitation_id: str, query: Query, send: Send) -> None:
    """The elicitation as soon as its seq is over ``after_seq`` or it is over; unchanged after ``wait`` seconds."""
    wait, after_seq = seconds(query), number(query, "after_seq")
    async with hub.watching(agent.pk) as watch:
        body = await _wait(hub, watch, agent, elicitation_id, wait, after_seq)
    await respond(send, 200, problems.JSON_HEADERS, problems.dumps(body))


async def _wait(hub: Hub, watch: Watch, agent: Agent, elicitation_id: str, wait: int, after_seq: int | None) -> Json:
    end = time.monotonic() + wait
    with watch.waiting_for(elicitation_id) as waiter:  # what came before is read now
        row = await hub.run(lambda: _read(agent, elicitation_id))
        body, floor = row.snapshot(), row.seq if after_seq is None else after_seq
        while body["seq"] <= floor and body["status"] not in TERMINAL and time.monotonic() < end:
            news = await waiter.news(_patience(row, end))
            if news is None and row.expires_at <= clock.now():
                row = await hub.run(lambda: _read(agent, elicitation_id))  # reading enforces the end of its time
                news = row.snapshot()
            if news and news["seq"] > body["seq"]:  # a watch that lags behind tells what the row said before
                body = news
    return body


def _patience(row: Elicitation, end: float) -> float:
    """Seconds until somebody has to look again by themselves."""
    remaining = end - time.monotonic()
    return remaining if row.over else min(remaining, max((row.expires_at - clock.now()).total_seconds(), 0.05))


def _read(agent: Agent, elicitation_id: str) -> Elicitation:
    row = own_elicitation(agent, elicitation_id)
    flow.expire(row)
    return row


def seconds(query: Query) -> int:
    """``wait`` in seconds, at most ELICIT_MAX_WAIT. Raises Invalid."""
    return min(number(query, "wait") or 0, settings.ELICIT_MAX_WAIT)


def number(query: Query, name: str) -> int | None:
    """A whole number of the query, or None when it is absent. Raises Invalid."""
    values = query.get(name)
    if values is None:
        return None
    if len(values) > 1 or not values[0].isascii() or not values[0].isdecimal() or len(values[0]) > 9:
        raise Invalid.at(f"query.{name}", "This must be one whole number, 0 or more.")
    return int(values[0])
