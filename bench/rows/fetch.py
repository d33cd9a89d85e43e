"""Using: POST /v1/connections/{id}/token, the token being fresh, beside a bare view that does one SELECT.

A request with a cookie is answered by Django (docs/adr/0030), so both ways are measured on one server.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.findings import Finding, Goal, number
from bench.ground import BOT, PROVIDER, Ground, request
from bench.plan import Plan
from bench.rounds import Rounds
from bench.rows.calls import CALLERS, Side, compare

TITLE = "Fetch"
HOUR = 3600


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    found = _measured(ground, plan)
    beside = f"{found.span('ours', 'rps')} ÷ {found.span('bare', 'rps')} /s"
    beside += f"; by Django {number(found.ratio('rps', 'django', 'bare'))}"
    yield Finding(
        "requests/s with 16 callers ÷ bare SELECT", found.ratio("rps", "ours", "bare"), "", Goal("≥", 2.5), beside
    )
    beside = f"{found.span('ours', 'cpu_ms', 'ms')} ÷ {found.span('bare', 'cpu_ms', 'ms')}"
    beside += f"; by Django {number(found.ratio('cpu_ms', 'django', 'bare'))}"
    yield Finding(
        "processor time a request ÷ bare SELECT", found.ratio("cpu_ms", "ours", "bare"), "", Goal("≤", 0.4), beside
    )
    beside = f"{found.span('ours', 'p50_alone', 'ms')} ÷ {found.span('bare', 'p50_alone', 'ms')}"
    beside += f"; by Django {number(found.ratio('p50_alone', 'django', 'bare'))}"
    yield Finding(
        "p50 with 1 caller ÷ bare SELECT", found.ratio("p50_alone", "ours", "bare"), "", Goal("≤", 0.6), beside
    )
    spent = f"p99 {found.span('ours', 'p99', 'ms')}"
    yield Finding("requests/s with 16 callers", found.median("ours", "rps"), "/s", Goal("≥", 3000), spent)


def _measured(ground: Ground, plan: Plan) -> Rounds:
    box, bare = ground.box(), ground.bare()
    tokens = [[f"at-{n}", f"rt-{n}"] for n in range(CALLERS)]
    ids = ground.inside(box).call("grants", agent=BOT.slug, provider=PROVIDER, tokens=tokens, seconds=HOUR)
    keys = ground.inside(bare).call("bare_rows", count=CALLERS)
    bare.start()
    fetches = [request("POST", f"/v1/connections/{pk}/token", body="{}") for pk in ids]
    sides = {
        "ours": Side(box, fetches, 200),
        "django": Side(box, [one.replace("\r\n", "\r\ncookie: a=1\r\n", 1) for one in fetches], 200),
        "bare": Side(bare, [request("POST", f"/v1/rows/{key}", body="{}") for key in keys], 200),
    }
    try:
        return compare(ground.client, plan, sides)
    finally:
        box.stop()
        bare.stop()
