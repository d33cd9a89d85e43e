"""Waiting: how long after a commit the agent knows, what a waiter costs, how many are let in, and who else feels it.

Two servers stand side by side, one with a few waiters and one with very many, and are measured by turns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from bench import machine
from bench.findings import Finding, Goal, number
from bench.ground import Ground, settle
from bench.hall import KEY, Hall
from bench.plan import Plan
from bench.rounds import Rounds, Sample, interleaved
from tests.support.ports import free_port, is_free
from tests.support.process import Process

TITLE = "Waiting"
FEW = 10
WARMING = 200
FILLING = 1000  # who are told at once, so that each pool has as many threads as it may have


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    quiet = Hall.open(ground, FEW)
    for streams in (False, True):
        quiet.warm(ground.client, streams=streams, first=FEW)
        full = Hall.open(ground, plan.waiters, {"ELICIT_MAX_WAITERS": str(plan.admitted)} if plan.quick else None)
        full.warm(ground.client, streams=streams, first=WARMING)
        yield from _transport(ground, plan, quiet, full, streams=streams)
        quiet.leave()
        full.leave()
        yield _begun(ground, plan, full, name="server-sent events" if streams else "long-poll")
        full.box.stop()
    quiet.box.stop()


def _transport(ground: Ground, plan: Plan, quiet: Hall, full: Hall, *, streams: bool) -> Iterator[Finding]:
    name = "server-sent events" if streams else "long-poll"
    memory, half = machine.memory(full.pid), plan.waiters // 2
    told = [full.join(list(range(WARMING, half)), streams=streams)]
    # The pools start a thread whenever all are busy. So they are filled, and one half is compared with all.
    full.used(ground.client, FILLING)
    threads, connections = machine.threads(full.pid), full.connections()
    told.append(full.join(list(range(half, plan.waiters)), streams=streams))
    each = (machine.memory(full.pid) - memory) / (plan.waiters - WARMING) / 1000
    rate = (plan.waiters - WARMING) / sum(one["seconds"] for one in told)
    idle = full.idle(plan.seconds * 2)
    found = _rounds(ground, plan, quiet, full)
    yield from _wakes(plan, found, quiet, full, name)
    yield _others(plan, found, name, idle)
    held = machine.threads(full.pid) - threads + full.connections() - connections
    beside = f"threads {threads} and connections {connections} with {half:,}"
    what = f"{name}: threads and connections more, {plan.waiters:,} waiters than {half:,}"
    yield Finding(what, held, "", Goal("=", 0), beside)
    bare = _bare_kilobytes(ground, plan.waiters)
    beside = f"{each:.1f} ÷ {bare:.1f} kB; {rate:,.0f} began to wait a second"
    yield Finding(f"{name}: memory a waiter ÷ bare stream", each / bare, "", Goal("≤", 1.3), beside)
    if streams:
        yield _admitted(plan, full)


def _rounds(ground: Ground, plan: Plan, quiet: Hall, full: Hall) -> Rounds:
    wakes = 50 if plan.quick else 200
    once = {name: partial(hall.sample, ground.client, wakes, plan.seconds) for name, hall in _halls(quiet, full)}
    quiet.wakes(20)
    full.wakes(20)
    return interleaved(plan.rounds, **once)


def _halls(quiet: Hall, full: Hall) -> list[tuple[str, Hall]]:
    return [("quiet", quiet), ("full", full)]


def _wakes(plan: Plan, found: Rounds, quiet: Hall, full: Hall, name: str) -> Iterator[Finding]:
    said = f"p50 {found.span('quiet', 'p50', 'ms')}, worst {number(max(found.values('quiet', 'worst')))} ms"
    yield Finding(f"{name}: commit → told, p99, {FEW} waiters", found.median("quiet", "p99"), "ms", Goal("≤", 5), said)
    said = f"p99 {found.span('full', 'p99', 'ms')}, p50 {found.span('full', 'p50', 'ms')}"
    said += f", worst {number(max(found.values('full', 'worst')))} ms; not told: {quiet.lost + full.lost}"
    what = f"{name}: the same, {plan.waiters:,} waiters ÷ {FEW}"
    yield Finding(what, found.ratio("p99", "full", "quiet"), "", Goal("≤", 1.5), said)


def _others(plan: Plan, found: Rounds, name: str, idle: float) -> Finding:
    said = f"{found.span('full', 'api', 'ms')} ÷ {found.span('quiet', 'api', 'ms')}"
    said += f"; {plan.waiters:,} who just wait take {idle * 100:.1f} % of a core"
    what = f"{name}: API p50, {plan.waiters:,} waiters ÷ {FEW}"
    return Finding(what, found.ratio("api", "full", "quiet"), "", Goal("≤", 1.5), said)


@contextmanager
def _bare(ground: Ground, env: dict[str, str] | None = None) -> Iterator[tuple[Process, int]]:
    """The bare application, under the same server with the same settings; and its port."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "bench.bare_waiting:application", "--port", str(port)]
    command += ["--backlog", "4096", "--no-access-log", "--log-level", "warning"]
    server = Process(command, ground.home / "bare_waiting.log", env=env)
    server.start()
    try:
        server.wait_until(lambda: not is_free(port), "the bare application listens")
        yield server, port
    finally:
        server.stop()


def _bare_kilobytes(ground: Ground, waiters: int) -> float:
    """Resident memory a stream of the bare application."""
    crowd = ground.peer("bench.crowd")
    with _bare(ground) as (server, port):
        crowd.call("join", port=port, numbers=list(range(FEW)), key="%08d", elicitations=[])
        before = machine.memory(server.pid)
        crowd.call("join", port=port, numbers=list(range(FEW, waiters)), key="%08d", elicitations=[])
        settle(server.pid)
        found = (machine.memory(server.pid) - before) / (waiters - FEW) / 1000
        crowd.call("leave")
        return found


def _begun(ground: Ground, plan: Plan, hall: Hall, *, name: str) -> Finding:
    """How many begin to wait in a second: each reads the state that is there, and then waits for the next."""
    count, asked = plan.waiters // 10, hall.asked if name == "long-poll" else []
    with _bare(ground, {"DATABASE_URL": hall.box.database_url}) as (server, port):
        crowd = ground.peer("bench.crowd")

        def join(port: int, pid: int) -> Sample:
            told = crowd.call("join", port=port, numbers=list(range(count)), key=KEY, elicitations=asked)
            if told["statuses"] != {"200": count}:
                raise RuntimeError(f"answers were {told['statuses']}")
            crowd.call("leave")
            settle(pid)
            return {"rate": count / told["seconds"]}

        sides = {"ours": partial(join, hall.box.ports[0], hall.pid), "bare": partial(join, port, server.pid)}
        for side in sides.values():
            side()
        found = interleaved(plan.rounds, **sides)
    beside = f"{found.span('ours', 'rate')} ÷ {found.span('bare', 'rate')} /s, {count:,} at once"
    what = f"{name}: begin to wait a second ÷ bare application with one SELECT"
    return Finding(what, found.ratio("rate", "ours", "bare"), "", Goal("≥", 0.5), beside)


def _admitted(plan: Plan, full: Hall) -> Finding:
    """More come until the process says that it is full."""
    before, more = full.waiting, plan.admitted - full.waiting + 50
    told = full.join([number % plan.waiters for number in range(more)], streams=True)
    refused = {status: count for status, count in told["statuses"].items() if status != "200"}
    beside = (
        f"the others were answered {refused or 'nothing else'}, Retry-After {', '.join(told['retry_after']) or '-'}"
    )
    what = "waiters that one process admits before 503 with Retry-After"
    return Finding(what, before + told["statuses"].get("200", 0), "", Goal("≥", plan.admitted), beside)
