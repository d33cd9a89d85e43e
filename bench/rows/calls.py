"""Two servers under the same closed loop of callers, by turns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import psycopg

from bench import machine
from bench.plan import Plan
from bench.rounds import Rounds, Sample, interleaved
from bench.talk import Peer
from tests.support.box import Box

CALLERS = 16


@dataclass(frozen=True)
class Side:
    """Every answer must have ``status``: a quick refusal is no throughput."""

    box: Box
    templates: list[str]
    status: int

    def load(self, client: Peer, callers: int, seconds: float, ports: list[int] | None = None) -> Sample:
        before = [machine.cpu_seconds(self.box.pid(name)) for name in self.box.webs]
        told = client.call(
            "load", ports=ports or self.box.ports[:1], templates=self.templates, callers=callers, seconds=seconds
        )
        after = [machine.cpu_seconds(self.box.pid(name)) for name in self.box.webs]
        if set(told["statuses"]) != {str(self.status)}:
            raise RuntimeError(f"answers were {told['statuses']}, not {self.status} alone\n{self.box.logs()[-2000:]}")
        spent = (sum(after) - sum(before)) / told["count"] * 1000
        return {"rps": told["rps"], "p50": told["p50"], "p99": told["p99"], "cpu_ms": spent}

    def analyze(self) -> None:
        """What autovacuum does within a minute: with no statistics PostgreSQL plans for an empty table."""
        if self.box.database_url.startswith("postgres"):
            with psycopg.connect(self.box.database_url, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")


def compare(client: Peer, plan: Plan, sides: dict[str, Side]) -> Rounds:
    """rps, p50, p99, cpu_ms (of the server, a request) with 16 callers, and p50_alone with one."""

    def once(side: Side) -> Sample:
        alone = side.load(client, 1, plan.seconds / 2)
        return {**side.load(client, CALLERS, plan.seconds), "p50_alone": alone["p50"]}

    for side in sides.values():
        side.load(client, CALLERS, 1.0)
        side.analyze()
    return interleaved(plan.rounds, **{name: partial(once, side) for name, side in sides.items()})
