"""GET /v1/elicitations/{id}?wait=: answers when something changed, else when the time is up."""

from __future__ import annotations

import math
import time
from datetime import datetime
from typing import NamedTuple

from django.conf import settings

from elicit_flows import flow
from elicit_flows.api import problems
from elicit_flows.api.find import own_elicitation
from elicit_flows.api.waiting.hub import Asker, Hub
from elicit_flows.api.waiting.watch import Watch
from elicit_flows.errors import Invalid
from elicit_flows.lib import clock
from elicit_flows.lib.pooled import Send, respond
from elicit_flows.models import Elicitation
from elicit_flows.states import TERMINAL, Status
from elicit_flows.values import Json

Query = dict[str, list[str]]


async def elicitation(hub: Hub, asker: Asker, elicitation_id: str, query: Query, send: Send) -> None:
    """The elicitation as soon as its seq is over ``after_seq`` or it is over; unchanged after ``wait`` seconds."""
    wait, after_seq = seconds(query), number(query, "after_seq")
    async with hub.watching(asker) as watch:
        body = await _wait(hub, watch, asker.agent_id, elicitation_id, wait, after_seq)
    await respond(send, 200, problems.JSON_HEADERS, body)


async def _wait(hub: Hub, watch: Watch, agent_id: int, elicitation_id: str, wait: int, after_seq: int | None) -> bytes:
    end = time.monotonic() + wait
    with watch.waiting_for(elicitation_id) as waiter:  # what came before is read now
        said = await hub.run(lambda: _read(agent_id, elicitation_id))
        floor = said.seq if after_seq is None else after_seq
        while said.seq <= floor and not said.over and time.monotonic() < end:
            news = await waiter.news(min(end - time.monotonic(), said.time_left()))
            if news and news["seq"] > said.seq:  # a watch that lags behind tells what the row said before
                said = said.followed_by(news)
            elif said.time_left() <= 0:
                said = await hub.run(lambda: _read(agent_id, elicitation_id))  # enforces the end of its time
    return said.body


class Said(NamedTuple):
    """An elicitation as it is answered: ready for the wire, a quarter of the room, and what a wait turns on."""

    seq: int
    status: str
    expires_at: datetime
    body: bytes

    @classmethod
    def of(cls, row: Elicitation) -> Said:
        return cls(row.seq, row.status, row.expires_at, problems.dumps(row.snapshot()))

    def followed_by(self, news: Json) -> Said:
        return Said(news["seq"], news["status"], self.expires_at, problems.dumps(news))

    @property
    def over(self) -> bool:
        return self.status in TERMINAL

    def time_left(self) -> float:
        """Seconds until time ends it; without end while its outcome is on the way."""
        if self.status == Status.SETTLING:
            return math.inf
        return (self.expires_at - clock.now()).total_seconds()


def _read(agent_id: int, elicitation_id: str) -> Said:
    row = own_elicitation(agent_id, elicitation_id)
    flow.expire(row)
    return Said.of(row)


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
