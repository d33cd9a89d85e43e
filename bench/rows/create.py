"""Asking: POST /v1/elicitations beside a bare view that parses JSON and does one INSERT."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground, request
from bench.plan import Plan
from bench.rounds import Rounds, interleaved
from bench.rows.calls import CALLERS, Side, compare

TITLE = "Create"
KEY = "key-of-one-of-sixteen-agents-%08d"


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
        Goal("≥", 0.7),
        _beside(found),
    )
    yield Finding("requests/s with 16 callers", found.median("ours", "rps"), "/s", Goal("≥", 900), _spent(found))
    one = f"bare INSERT {found.span('bare', 'p50_alone', 'ms')}"
    yield Finding("p50 with 1 caller", found.median("ours", "p50_alone"), "ms", Goal("≤", 10), one)
    yield _one_feed(ground, plan)
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


def _one_feed(ground: Ground, plan: Plan) -> Finding:
    """The events of one agent are numbered without a gap; those of sixteen are numbered side by side."""
    box = ground.box()
    ground.inside(box).call("agents", count=CALLERS, key=KEY)
    templates = [ask(ground.provider.issuer, KEY % number) for number in range(CALLERS)]
    sides = {"one": Side(box, templates[:1], 201), "sixteen": Side(box, templates, 201)}
    loads = {name: partial(side.load, ground.client, CALLERS, plan.seconds) for name, side in sides.items()}
    for load in loads.values():
        load()
    sides["sixteen"].analyze()
    found = interleaved(plan.rounds, **loads)
    box.stop()
    beside = f"{found.span('one', 'rps')} ÷ {found.span('sixteen', 'rps')} /s, {CALLERS} callers"
    what = f"creates, each with an event, of one agent ÷ of {CALLERS} agents"
    return Finding(what, found.ratio("rps", "one", "sixteen"), "", Goal("≥", 0.8), beside)


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
