"""Using: POST /v1/connections/{id}/token, the token being fresh, beside a bare view that does one SELECT."""

from __future__ import annotations

from collections.abc import Iterator

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground, request
from bench.plan import Plan
from bench.rounds import Rounds
from bench.rows.calls import CALLERS, Side, compare

TITLE = "Fetch"
HOUR = 3600


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    found = _measured(ground, plan)
    beside = f"{found.span('ours', 'rps')} ÷ {found.span('bare', 'rps')} /s"
    yield Finding(
        "requests/s with 16 callers ÷ bare SELECT", found.ratio("rps", "ours", "bare"), "", Goal("≥", 0.5), beside
    )
    ours, bare = found.median("ours", "cpu_ms"), found.median("bare", "cpu_ms")
    spent = f"processor time a request {ours:.2f} ms, bare {bare:.2f} ms; p99 {found.span('ours', 'p99', 'ms')}"
    yield Finding("requests/s with 16 callers", found.median("ours", "rps"), "/s", Goal("≥", 1000), spent)
    one = f"bare SELECT {found.span('bare', 'p50_alone', 'ms')}"
    yield Finding("p50 with 1 caller", found.median("ours", "p50_alone"), "ms", Goal("≤", 5), one)


def _measured(ground: Ground, plan: Plan) -> Rounds:
    box, bare = ground.box(), ground.bare()
    tokens = [[f"at-{n}", f"rt-{n}"] for n in range(CALLERS)]
    ids = ground.inside(box).call("grants", agent=BOT.slug, provider=PROVIDER, tokens=tokens, seconds=HOUR)
    keys = ground.inside(bare).call("bare_rows", count=CALLERS)
    bare.start()
    sides = {
        "ours": Side(box, [request("POST", f"/v1/connections/{pk}/token", body="{}") for pk in ids], 200),
        "bare": Side(bare, [request("POST", f"/rows/{key}", body="{}") for key in keys], 200),
    }
    try:
        return compare(ground.client, plan, sides)
    finally:
        box.stop()
        bare.stop()
