"""Coming back: GET /callback/{provider} beyond the time that the provider takes for its own two answers."""

from __future__ import annotations

import http.client
import time
import tomllib
from collections.abc import Iterator
from urllib.parse import urlsplit

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground
from bench.plan import Plan
from bench.provider import Timed
from bench.rounds import Sample, interleaved, percentile
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.process import PROJECT

TITLE = "Callback"


class Traveller:
    """One person who goes to the provider and back, again and again."""

    def __init__(self, box: Box, provider: Timed) -> None:
        self.box, self.provider = box, provider
        self.agent: AgentClient = box.agent(BOT.slug)
        self.user = HttpUser()
        self.direct = http.client.HTTPConnection("127.0.0.1", box.ports[0], timeout=30)

    def ask(self) -> str:
        body = {
            "kind": "oauth",
            "subject": {"iss": self.provider.issuer, "sub": self.provider.user["sub"]},
            "message": "Connect Drive so that I can list your files.",
            "params": {"provider": PROVIDER, "scopes": ["files.read"]},
            "reuse": "never",
        }
        return str(self.agent.post("/v1/elicitations", json=body).raise_for_status().json()["url"])

    def trip(self) -> tuple[float, float]:
        """Milliseconds that the callback took, and those of them that were the provider's."""
        with self.user.stopping_at(f"{self.box.url}/callback/"):
            self.user.open(self.ask())
            self.user.carry_on("signin", "continue")
        target = urlsplit(self.user.location)
        cookies = "; ".join(f"{name}={value}" for name, value in self.user.http.cookies.items())
        self.provider.spent, began = 0.0, time.perf_counter()
        self.direct.request("GET", f"{target.path}?{target.query}", headers={"cookie": cookies})
        answer = self.direct.getresponse()
        answer.read()
        took = time.perf_counter() - began
        if answer.status != 303 or not str(answer.getheader("location")).endswith("/done"):
            raise RuntimeError(f"the callback answered {answer.status}\n{self.box.logs()[-2000:]}")
        return took * 1000, self.provider.spent * 1000


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    box = ground.box()
    traveller = Traveller(box, ground.provider)
    trips = 5 if plan.quick else 20

    def once() -> Sample:
        found = [traveller.trip() for _ in range(trips)]
        own = [whole - theirs for whole, theirs in found]
        return {
            "own": percentile(own, 0.5),
            "p99": percentile(own, 0.99),
            "whole": percentile([whole for whole, _ in found], 0.5),
        }

    traveller.trip()
    found = interleaved(plan.rounds, callback=once)
    traveller.user.close()
    box.stop()
    beside = (
        f"with the provider's {found.span('callback', 'whole', 'ms')}; p99 beyond {found.span('callback', 'p99', 'ms')}"
    )
    yield Finding("p50 beyond the provider's own time", found.median("callback", "own"), "ms", Goal("≤", 6), beside)
    table = tomllib.loads((PROJECT / "tests/house/costs.toml").read_text(encoding="utf-8"))
    held = "to PostgreSQL, from the session to the last COMMIT, from tests/house/costs.toml; a test holds them"
    yield Finding("round trips to the database", table["callback_round_trips"], "", Goal("≤", 10), held)
