"""Asking: POST /v1/elicitations beside a bare view that parses JSON and does one INSERT."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground, request
from bench.plan import Plan
from bench.rounds import Rounds
from bench.rows.calls import Side, compare

TITLE = "Create"


def ask(issuer: str, key: str = BOT.api_key) -> str:
    """A create for a person nobody asked before."""
    body = {
        "kind": "oauth",
        "subject": {"iss": issuer, "sub": "user-%08d"},
        "message": "Connect Drive so that I can list your files.",
        "params": {"provider": PROVIDER, "scopes": ["files.read"]},
    }
    return request("POST", "/v1/elicitations", key, json.dumps(body))


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    found = _measured(ground, plan, sqlite=False)
    yield Finding(
        "requests/s with 16 callers ÷ bare INSERT",
        found.ratio("rps", "ours", "bare"),
        "",
        Goal("≥", 0.5),
        _beside(found),
    )
    yield Finding("requests/s with 16 callers", found.median("ours", "rps"), "/s", Goal("≥", 400), _spent(found))
    one = f"bare INSERT {found.span('bare', 'p50_alone', 'ms')}"
    yield Finding("p50 with 1 caller", found.median("ours", "p50_alone"), "ms", Goal("≤", 10), one)
    if not plan.sqlite:
        return
    lite = _measured(ground, plan, sqlite=True)
    yield Finding(
        "on SQLite: requests/s with 16 callers ÷ bare INSERT",
        lite.ratio("rps", "ours", "bare"),
        "",
        None,
        _beside(lite),
    )


def _measured(ground: Ground, plan: Plan, *, sqlite: bool) -> Rounds:
    box, bare = ground.box(sqlite=sqlite), ground.bare(sqlite=sqlite)
    ground.inside(bare).call("bare_rows", count=0)
    bare.start()
    template = ask(ground.provider.issuer)
    sides = {
        "ours": Side(box, [template], 201),
        "bare": Side(bare, [template.replace("/v1/elicitations", "/v1/rows")], 201),
    }
    try:
        return compare(ground.client, plan, sides)
    finally:
        box.stop()
        bare.stop()


def _beside(found: Rounds) -> str:
    return f"{found.span('ours', 'rps')} ÷ {found.span('bare', 'rps')} /s"


def _spent(found: Rounds) -> str:
    ours, bare = found.median("ours", "cpu_ms"), found.median("bare", "cpu_ms")
    return f"processor time a request {ours:.2f} ms, bare {bare:.2f} ms; p99 {found.span('ours', 'p99', 'ms')}"
