"""Refreshing before anybody asks, and what a dead process left half done. Called by the worker.

Many threads ask. One claims and records, so that a worker needs one database connection for it. A provider that does
not answer is left alone for a while, so that what is due elsewhere does not wait; each process learns that by itself.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from django.db.models import Q, QuerySet

from elicit_flows.lib import clock
from elicit_flows.lib.oauth import Transient
from elicit_flows.models import Connection
from elicit_flows.vault import refreshing
from elicit_flows.vault.schedule import next_refresh

AT_ONCE = 16  # all are asked at the same time: one that waited for its turn would lose its lease
REST = 60.0  # seconds

_resting: dict[int, float] = {}  # provider's key: until when (monotonic)


def refresh_due() -> int:
    """Look after the connections whose time has come, a handful at a time; how many of them."""
    claimed: list[Connection] = []
    put_off = 0
    for row in _due()[:AT_ONCE]:
        planned = next_refresh(row)
        if planned is None or planned > clock.now():
            put_off += Connection.objects.filter(pk=row.pk, refresh_due_at=row.refresh_due_at).update(
                refresh_due_at=planned
            )
        elif refreshing.claim(row):
            claimed.append(row)
    if claimed:
        _refresh(claimed)
    return put_off + len(claimed)


def _due() -> QuerySet[Connection]:
    now = clock.now()
    free = Q(refresh_lease_until=None) | Q(refresh_lease_until__lte=now)
    on = Q(provider__enabled=True, agent__enabled=True)  # what is switched off is due as soon as it is on again
    rows = Connection.objects.filter(free, on, refresh_due_at__lte=now).exclude(provider_id__in=_left_alone())
    return rows.select_related("provider", "agent").order_by("refresh_due_at")


def _refresh(claimed: list[Connection]) -> None:
    with ThreadPoolExecutor(len(claimed), thread_name_prefix="refresh") as pool:
        asked = {pool.submit(refreshing.ask, row): row for row in claimed}
        for answered in as_completed(asked):
            row, outcome = asked[answered], answered.result()
            if isinstance(outcome, Transient) and row.provider_id:
                _resting[row.provider_id] = time.monotonic() + REST
            refreshing.settle(row, outcome)


def _left_alone() -> list[int]:
    now = time.monotonic()
    for provider in [provider for provider, until in _resting.items() if until <= now]:
        _resting.pop(provider, None)
    return list(_resting)
