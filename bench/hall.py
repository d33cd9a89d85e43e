"""A box and the agents that wait in it."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

import psycopg

from bench import machine
from bench.ground import Ground, request, settle
from bench.rounds import Sample, percentile
from bench.rows.calls import CALLERS, Side
from bench.talk import Peer
from tests.support.box import Box

KEY = "key-of-one-of-very-many-agents-%08d"
PAUSE = 0.01  # seconds between two commits
ANSWERS_WITHIN = 1.5  # seconds: over the poll that finds what no wake-up announced


@dataclass
class Hall:
    """Each agent has one question under way, and waits on a stream of its events or polls the question."""

    box: Box
    crowd: Peer
    hand: Peer
    asked: list[str]
    waiting: int = 0
    lost: int = 0

    @classmethod
    def open(cls, ground: Ground, agents: int, settings: dict[str, str] | None = None) -> Hall:
        box = ground.box(settings=settings)
        hand = ground.inside(box)
        hand.call("agents", count=agents, key=KEY)
        return cls(box, ground.peer("bench.crowd"), hand, hand.call("started"))

    @property
    def pid(self) -> int:
        return self.box.pid()

    @property
    def api(self) -> Side:
        """Looking at one elicitation, without waiting."""
        return Side(self.box, [request("GET", f"/v1/elicitations/{self.asked[0]}", KEY % 0)], 200)

    @property
    def _by_django(self) -> Side:
        [asking] = self.api.templates
        return Side(self.box, [asking.replace("\r\n", "\r\ncookie: a=1\r\n", 1)], 200)

    def join(self, numbers: list[int], *, streams: bool) -> dict[str, Any]:
        """Let these agents wait, and wait until the server has come to rest again."""
        asked = [] if streams else self.asked
        told: dict[str, Any] = self.crowd.call(
            "join", port=self.box.ports[0], numbers=numbers, key=KEY, elicitations=asked
        )
        self.waiting += told["statuses"].get("200", 0)
        settle(self.pid)
        return told

    def warm(self, client: Peer, *, streams: bool, first: int) -> None:
        self.join(list(range(first)), streams=streams)
        self.used(client, first)

    def used(self, client: Peer, wakes: int) -> None:
        """A few are told, at once, and many ask, of whom a cookie leads some to Django, until that starts no thread any
        more: now every pool has its threads, and they their connections.
        """
        threads = 0
        while threads < (threads := machine.threads(self.pid)):
            self.wakes(wakes, pause=0.0)
            for api in (self.api, self._by_django):
                api.load(client, CALLERS, 1.0)

    def leave(self) -> None:
        self.crowd.call("leave")
        self.waiting = self.lost = 0
        settle(self.pid)

    def wakes(self, count: int, pause: float = PAUSE) -> list[float]:
        """Milliseconds from a commit to the agent whose it is, for ``count`` changes, one after the other."""
        self.crowd.call("hear")
        chosen = random.choices(range(min(self.waiting, len(self.asked))), k=count)
        told = self.hand.call("stir", elicitations=[self.asked[number] for number in chosen], pause=pause)
        time.sleep(ANSWERS_WITHIN)
        heard = self.crowd.call("hear")
        times = []
        for number, (seq, at) in zip(chosen, told, strict=True):
            # A poll that was not armed yet when this change came tells the next one, and this with it.
            moments = [moment for who, upto, moment in heard if who == number and upto >= seq]
            times += [(min(moments) - at) / 1e6] if moments else []
        self.lost += count - len(times)
        return times

    def sample(self, client: Peer, wakes: int, seconds: float) -> Sample:
        """Wakes (p50, p99, worst, in ms), and the API's p50 with one caller, while they wait."""
        times, api = self.wakes(wakes), self.api.load(client, 1, seconds)
        return {
            "p50": percentile(times, 0.5),
            "p99": percentile(times, 0.99),
            "worst": max(times, default=0.0),
            "api": api["p50"],
        }

    def connections(self) -> int:
        """Connections to this box's database, without the one that asks."""
        name = self.box.database_url.rpartition("/")[2]
        with psycopg.connect(self.box.database_url) as asking:
            found = asking.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [name]).fetchone()
        return int(found[0]) - 1 if found else 0

    def idle(self, seconds: float) -> float:
        """The share of one core that the server uses while they just wait."""
        before = machine.cpu_seconds(self.pid)
        time.sleep(seconds)
        return (machine.cpu_seconds(self.pid) - before) / seconds
