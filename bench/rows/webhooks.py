"""Telling: webhooks delivered a second, and what a tenth of the endpoints does to the others when it hangs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from bench.findings import Finding, Goal
from bench.ground import Ground
from bench.plan import Plan
from bench.rounds import Sample, interleaved, percentile
from bench.rows.create import ask
from bench.talk import Peer

TITLE = "Webhooks"
KEY = "key-of-one-of-many-hooked-agents-%08d"
ENDPOINTS = 100
ONE_IN = 10


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    receiver = ground.peer("bench.receiver")
    url = f"http://127.0.0.1:{receiver.call('port')}/hook/%d"
    yield from _throughput(ground, plan, url)
    yield _healthy(ground, plan, receiver, url)


def _throughput(ground: Ground, plan: Plan, url: str) -> Iterator[Finding]:
    """A worker's process, and the same process posting without a database: other bytes are sent by neither."""
    box = ground.box(start=False)
    hand = ground.inside(box)
    agents = hand.call("hooked", count=ENDPOINTS, url=url, key=KEY)

    def ours() -> Sample:
        hand.call("pending", agents=agents, count=plan.deliveries)
        took = hand.call("deliver")
        if hand.call("undelivered"):
            raise RuntimeError("a worker left deliveries behind")
        return {"rate": plan.deliveries / took}

    def posted(how: str) -> Sample:
        return {"rate": plan.deliveries / hand.call(how, agents=agents, count=plan.deliveries)}

    sides: dict[str, Callable[[], Sample]] = {
        "ours": ours,
        "bare": partial(posted, "post"),
        "loop": partial(posted, "post_from_a_loop"),
    }
    for side in sides.values():
        side()
    found = interleaved(plan.rounds, **sides)
    for other, how, goal in (("bare", "64 threads", 1.2), ("loop", "the worker's own client", 0.3)):
        beside = f"{found.span('ours', 'rate')} ÷ {found.span(other, 'rate')} /s, {ENDPOINTS} endpoints, one process"
        what = f"delivered/s ÷ posted/s with no database, by {how}"
        yield Finding(what, found.ratio("rate", "ours", other), "", Goal("≥", goal), beside)


def _healthy(ground: Ground, plan: Plan, receiver: Peer, url: str) -> Finding:
    """Two services with a hundred endpoints each; a tenth of the endpoints of one of them never answers."""
    receiver.call("hang", paths=[f"/ill/{number}" for number in range(0, ENDPOINTS, ONE_IN)])
    sides = {name: Endpoints(ground, receiver, name, url.replace("/hook/", f"/{name}/")) for name in ("well", "ill")}
    templates = [ask(ground.provider.issuer, KEY % number) for number in range(ENDPOINTS)]
    once = {name: partial(side.once, ground.client, templates, plan.seconds * 2) for name, side in sides.items()}
    found = interleaved(plan.rounds, **once)
    for side in sides.values():
        side.box.kill9()
    beside = f"{found.span('ill', 'p99', 'ms')} ÷ {found.span('well', 'p99', 'ms')}"
    beside += f"; came of those asked {min(found.values('ill', 'came')):.2f}"
    what = "healthy endpoints' p99, a tenth of the endpoints hanging ÷ none"
    return Finding(what, found.ratio("p99", "ill", "well"), "", Goal("≤", 2), beside)


class Endpoints:
    """A service whose agents create one question a second each; every create is told to the agent's endpoint."""

    def __init__(self, ground: Ground, receiver: Peer, name: str, url: str) -> None:
        self.box, self.receiver, self.prefix = ground.box(), receiver, f"/{name}/"
        self.hand = ground.inside(self.box)
        self.agents = self.hand.call("hooked", count=ENDPOINTS, url=url, key=KEY)

    def once(self, client: Peer, templates: list[str], seconds: float) -> Sample:
        """Milliseconds from an event's creation to its receipt, at the endpoints that always answer.

        Begins anew each time, with as much for the others under way as one endpoint may have under way.
        """
        self.box.kill9()
        self.hand.call("calm")
        self.hand.call("fill", agents=self.agents[::ONE_IN])
        self.box.restart()
        client.call("load", ports=self.box.ports, templates=templates, callers=ENDPOINTS, seconds=2.0, every=1.0)
        self.receiver.call("got")
        told = client.call(
            "load", ports=self.box.ports, templates=templates, callers=ENDPOINTS, seconds=seconds, every=1.0
        )
        time.sleep(1.0)
        times = [(at - _epoch(made)) * 1000 for path, _, made, at in self.receiver.call("got") if self._healthy(path)]
        return {
            "p99": percentile(times, 0.99),
            "p50": percentile(times, 0.5),
            "came": len(times) / told["count"] / (1 - 1 / ONE_IN),
        }

    def _healthy(self, path: str) -> bool:
        return path.startswith(self.prefix) and int(path.removeprefix(self.prefix)) % ONE_IN != 0


def _epoch(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
