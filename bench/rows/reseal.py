"""Sealing everything anew: what agents that fetch tokens notice of it."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground, request, settle
from bench.plan import Plan
from bench.rounds import Sample, interleaved

TITLE = "Re-seal"
ROWS, CALLERS, EVERY = 5_000, 16, 0.16  # a hundred calls a second
RING = ",".join(f"{name}:{base64.b64encode(name.encode() * 32).decode()}" for name in "ab")


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    box = ground.box(settings={"ELICIT_VAULT_KEYS": RING})
    hand = ground.inside(box)
    tokens = [[f"at-{n}", f"rt-{n}"] for n in range(ROWS)]
    ids = hand.call("grants", agent=BOT.slug, provider=PROVIDER, tokens=tokens, seconds=3600)
    templates = [request("POST", f"/v1/connections/{pk}/token", body="{}") for pk in ids[:CALLERS]]
    settle(box.pid())

    def fetch() -> Sample:
        told = ground.client.call(
            "load", ports=box.ports, templates=templates, callers=CALLERS, seconds=plan.seconds * 2, every=EVERY
        )
        if set(told["statuses"]) != {"200"}:
            raise RuntimeError(f"answers were {told['statuses']}")
        return {"p50": told["p50"], "p99": told["p99"]}

    def fetch_meanwhile() -> Sample:
        hand.begin("reseal", seconds=plan.seconds * 2)
        found = fetch()
        return {**found, "sealed": hand.finish() / plan.seconds / 2}

    fetch()
    found = interleaved(plan.rounds, alone=fetch, resealing=fetch_meanwhile)
    box.stop()
    beside = f"{found.span('resealing', 'p99')} ÷ {found.span('alone', 'p99', 'ms')}, 100 fetches/s; p50 "
    beside += f"{found.median('resealing', 'p50'):.1f} ÷ {found.median('alone', 'p50'):.1f} ms; "
    beside += f"{found.span('resealing', 'sealed')} texts sealed anew /s"
    yield Finding(
        "fetch p99 while re-sealing ÷ without", found.ratio("p99", "resealing", "alone"), "", Goal("≤", 2), beside
    )
