"""Refreshing: how often the provider is asked when many callers in many processes find the same tokens expired."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground, request
from bench.plan import Plan
from bench.rounds import Sample, interleaved

TITLE = "Refresh"
PROCESSES, CALLERS, TOKENS = 4, 100, 10


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    box = ground.box(webs=PROCESSES)
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
    yield Finding("refreshes ÷ expired tokens", refreshes / plan.rounds / TOKENS, "", Goal("=", 1.0), beside)
