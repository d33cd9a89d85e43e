"""Refreshing: how often the provider is asked when many callers in many processes find the same tokens expired, and how
many refreshes one worker does a second before anybody asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground, request
from bench.plan import Plan
from bench.rounds import Sample, interleaved

TITLE = "Refresh"
PROCESSES, CALLERS, TOKENS = 4, 100, 10
PROVIDERS, AWAY = 8, 0.2  # seconds that a provider takes
# How long its answer takes: what a second of one worker is to bring.
PACES = {"at once": (0.0, 280.0), "after 200 ms": (AWAY, 150.0)}


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    yield _once_each(ground, plan)
    yield from _ahead(ground, plan)


def _ahead(ground: Ground, plan: Plan) -> Iterator[Finding]:
    """A worker's process, whose providers answer at once or after a while."""
    endpoint = ground.peer("bench.token_endpoint")
    hand = ground.inside(ground.box(start=False))
    url = f"http://127.0.0.1:{endpoint.call('port')}/token"
    hand.call("refreshable", agent=BOT.slug, token_url=url, providers=PROVIDERS, count=plan.refreshes)

    def once(pause: float) -> Sample:
        endpoint.call("pause", seconds=pause)
        told = hand.call("refresh")
        if told["refreshed"] != plan.refreshes:
            raise RuntimeError(f"{told['refreshed']} of {plan.refreshes} were refreshed")
        return {"rate": plan.refreshes / told["seconds"]}

    once(0.0)
    found = interleaved(plan.rounds, **{pace: partial(once, pause) for pace, (pause, _) in PACES.items()})
    for pace, (_, aim) in PACES.items():
        beside = f"{found.span(pace, 'rate')} /s, {PROVIDERS} providers, one process, one agent"
        what = f"refreshes/s of one worker, providers answer {pace}"
        yield Finding(what, found.median(pace, "rate"), "/s", Goal("≥", aim), beside)


def _once_each(ground: Ground, plan: Plan) -> Finding:
    box = ground.box(webs=PROCESSES, settings={"ELICIT_AGENT_IN_FLIGHT": str(PROCESSES * CALLERS)})
    hand, provider = ground.inside(box), ground.provider
    tokens = [provider.grant(number) for number in range(TOKENS)]
    ids = hand.call("grants", agent=BOT.slug, provider=PROVIDER, tokens=tokens, seconds=3600)
    asks = [request("POST", f"/v1/connections/{pk}/token", body="{}") for pk in ids]
    # Caller n goes to process n % 4 and asks for token n // 4 % 10: every token is asked for in every process.
    templates = [asks[n // PROCESSES % TOKENS] for n in range(PROCESSES * TOKENS)]

    def once() -> Sample:
        hand.call("expire_tokens")
        before = provider.calls["token"]
        told = ground.client.call(
            "load", ports=box.ports, templates=templates, callers=PROCESSES * CALLERS, seconds=60, most=1, keep=True
        )
        given = {json.loads(body).get("access_token") for body in told["bodies"]}
        if told["statuses"] != {"200": PROCESSES * CALLERS} or not all(map(provider.live, given)):
            raise RuntimeError(f"answers {told['statuses']}, tokens that live: {sum(map(provider.live, given))}")
        return {"refreshes": provider.calls["token"] - before, "given": len(given), "p99": told["p99"]}

    found = interleaved(plan.rounds, all=once)
    box.stop()
    refreshes = sum(found.values("all", "refreshes"))
    beside = f"{refreshes:.0f} refreshes for {plan.rounds} × {TOKENS} tokens, {PROCESSES} processes × {CALLERS} callers"
    beside += f"; different tokens given {found.span('all', 'given')}; callers' p99 {found.span('all', 'p99', 'ms')}"
    return Finding("refreshes ÷ expired tokens", refreshes / plan.rounds / TOKENS, "", Goal("=", 1.0), beside)
