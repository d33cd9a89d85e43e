"""Calling: a provider's API through the service, beside a direct call and a bare forwarding application."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

from bench.findings import Finding, Goal
from bench.ground import BOT, Ground, request
from bench.plan import Plan
from bench.rounds import Rounds, Sample, interleaved
from bench.rows.calls import CALLERS
from tests.support.ports import free_port, is_free
from tests.support.process import Process

TITLE = "Call an API through the service"
HOUR = 3600


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    found = _measured(ground, plan)
    beside = f"{found.span('ours', 'slow', 'ms')} ÷ {found.span('direct', 'slow', 'ms')}"
    beside += f"; a bare forwarder {found.span('forwarded', 'slow', 'ms')}"
    yield Finding("p50 with 1 caller ÷ direct, the API takes 20 ms", found.ratio("slow", "ours", "direct"), "",
                  Goal("≤", 1.3), beside)  # fmt: skip
    beside = f"{found.span('ours', 'quick', 'ms')} ÷ {found.span('direct', 'quick', 'ms')}"
    beside += f"; a bare forwarder {found.span('forwarded', 'quick', 'ms')}"
    yield Finding("the same, the API answers at once", found.ratio("quick", "ours", "direct"), "", None, beside)
    beside = f"{found.span('ours', 'rps')} ÷ {found.span('forwarded', 'rps')} /s"
    beside += f"; direct {found.span('direct', 'rps')} /s"
    yield Finding("calls/s with 16 callers ÷ a bare forwarder", found.ratio("rps", "ours", "forwarded"), "",
                  Goal("≥", 0.5), beside)  # fmt: skip


def _measured(ground: Ground, plan: Plan) -> Rounds:
    with ExitStack() as stack:
        api = _started(ground, stack, {})
        forwarder = _started(ground, stack, {"BENCH_UPSTREAM": f"http://127.0.0.1:{api}"})
        box = ground.box()
        stack.callback(box.stop)
        double, at = ground.provider, f"{ground.provider.url}"
        client = {"client_id": double.client_id, "client_secret": double.client_secret}
        away = {"authorize_url": f"{at}/authorize", "token_url": f"{at}/token"}
        called = {"slug": "called", **client, **away, "api_urls": [f"http://127.0.0.1:{api}"]}
        box.apply({"provider": [called]})
        tokens = [[f"called-at-{n}", f"called-rt-{n}"] for n in range(CALLERS)]
        ids = ground.inside(box).call("grants", agent=BOT.slug, provider="called", tokens=tokens, seconds=HOUR)
        sides = {
            "ours": (box.ports[0], [f"/v1/connections/{pk}/proxy" for pk in ids]),
            "forwarded": (forwarder, [""]),
            "direct": (api, [""]),
        }

        def load(side: str, path: str, callers: int, seconds: float) -> Sample:
            port, begins = sides[side]
            templates = [request("GET", f"{begin}{path}") for begin in begins]
            told = ground.client.call("load", ports=[port], templates=templates, callers=callers, seconds=seconds)
            if set(told["statuses"]) != {"200"}:
                raise RuntimeError(f"answers were {told['statuses']}\n{box.logs()[-2000:]}")
            return {"rps": told["rps"], "p50": told["p50"]}

        def once(side: str) -> Sample:
            slow = load(side, "/slow/files", 1, plan.seconds / 2)
            quick = load(side, "/v1/files", 1, plan.seconds / 2)
            many = load(side, "/v1/files", CALLERS, plan.seconds)
            return {"slow": slow["p50"], "quick": quick["p50"], "rps": many["rps"]}

        for side in sides:
            load(side, "/v1/files", CALLERS, 1.0)
        return interleaved(plan.rounds, **{side: partial(once, side) for side in sides})


def _started(ground: Ground, stack: ExitStack, env: dict[str, str]) -> int:
    """An application of ``bench.bare_api`` on a port."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "bench.bare_api:application",
        "--port",
        str(port),
        "--http",
        "httptools",
    ]
    log = ground.home / f"bare_api-{port}.log"
    server = Process([*command, "--no-access-log", "--log-level", "warning"], log, env=env)
    server.start()
    stack.callback(server.stop)
    server.wait_until(lambda: not is_free(port), "the bare application listens")
    return port
