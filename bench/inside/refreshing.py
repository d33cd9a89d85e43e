"""Refreshes of the background: connections of several providers that are due, and a worker that sees to them."""

from __future__ import annotations

import time
from datetime import timedelta

from bench.inside import seeding
from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.jobs import worker
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Provider


def refreshable(agent: str, token_url: str, providers: int, count: int) -> None:
    """``count`` connections of as many providers, none of which is due yet."""
    for number in range(providers):
        row = Provider(
            slug=f"quick-{number}", name="Quick", client_id="elicit", scopes=["files.read"], token_url=token_url,
            authorize_url=token_url,
        )  # fmt: skip
        vault.seal_client_secret(row, Secret("s3cret"))
        row.save()
        tokens = [[f"at-{number}-{n}", f"rt-{number}-{n}"] for n in range(count // providers)]
        seeding.grants(Agent.objects.get(slug=agent).slug, row.slug, tokens, 3600)


def refresh() -> dict[str, float]:
    """All of them run out at once: how many a worker has refreshed, and the seconds that it took."""
    now = clock.now()
    due = Connection.objects.filter(provider__slug__startswith="quick-")
    due.update(issued_at=now - timedelta(hours=1), expires_at=now, last_used_at=now, refresh_due_at=now)
    began = time.perf_counter()
    worker.until_idle(vault.Refreshes(), 120.0)
    took = time.perf_counter() - began
    return {"refreshed": due.filter(issued_at__gte=now).count(), "seconds": took}
