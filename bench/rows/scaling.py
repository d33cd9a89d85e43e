"""Growing wide: two web processes beside one, two workers beside one, as far as the machine's cores let them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bench.findings import Finding, Goal
from bench.ground import Ground
from bench.plan import Plan
from bench.rounds import Rounds, Sample, interleaved
from bench.rows.calls import CALLERS, Side
from bench.rows.create import ask
from bench.rows.webhooks import ENDPOINTS, KEY

TITLE = "Scaling"


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    cores = f"on {os.cpu_count()} cores, which PostgreSQL and the client use too"
    web = _webs(ground, plan)
    beside = f"{web.span('two', 'rps')} ÷ {web.span('one', 'rps')} creates/s {cores}"
    yield Finding("2 web processes ÷ 1", web.ratio("rps", "two", "one"), "", Goal("≥", 1.6), beside)
    workers = _workers(ground, plan)
    beside = f"{workers.span('two', 'rate')} ÷ {workers.span('one', 'rate')} deliveries/s {cores}"
    yield Finding("2 workers ÷ 1", workers.ratio("rate", "two", "one"), "", Goal("≥", 1.6), beside)


def _webs(ground: Ground, plan: Plan) -> Rounds:
    """Many agents ask: one agent's events are put in order, and so its creates come one after the other."""
    box = ground.box(webs=2)
    ground.inside(box).call("agents", count=CALLERS, key=KEY)
    side = Side(box, [ask(ground.provider.issuer, KEY % number) for number in range(CALLERS)], 201)

    def load(ports: list[int]) -> Sample:
        return side.load(ground.client, CALLERS, plan.seconds, ports)

    load(box.ports)
    found = interleaved(plan.rounds, one=lambda: load(box.ports[:1]), two=lambda: load(box.ports))
    box.stop()
    return found


def _workers(ground: Ground, plan: Plan) -> Rounds:
    receiver = ground.peer("bench.receiver")
    url = f"http://127.0.0.1:{receiver.call('port')}/hook/%d"
    box = ground.box(start=False)
    hands = [ground.inside(box), ground.inside(box)]
    agents = hands[0].call("hooked", count=ENDPOINTS, url=url, key=KEY)

    def deliver(number: int) -> Sample:
        hands[0].call("pending", agents=agents, count=plan.deliveries)
        took = max(hand.finish() for hand in [hand.begin("deliver") for hand in hands[:number]])
        return {"rate": plan.deliveries / took}

    deliver(2)
    return interleaved(plan.rounds, one=lambda: deliver(1), two=lambda: deliver(2))
