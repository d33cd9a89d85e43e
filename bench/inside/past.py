"""Rows and pages as PostgreSQL counts them, and milliseconds of one call. Says 1 when any reads more than it may."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ["ELICIT_STATEMENT_TIMEOUT"] = "0"  # a million rows are written in one
django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from django.db import transaction

from elicit_flows.jobs import purge
from tests.support import history, hot_reads
from tests.support.reading import read_by


def compare(count: int) -> int:
    made = history.begin()
    acts = hot_reads.acts(made)
    without = {name: (read_by(act)[0], milliseconds(act)) for name, act in acts.items()}
    began = time.perf_counter()
    made.add(count)
    print(f"{count:,} rows of each table, written in {time.perf_counter() - began:.0f} s; each without and with them:")
    print(f"{'rows':>16} {'pages':>16} {'ms':>14}")
    grown = 0
    for name, act in acts.items():
        (few, quick), (many, plans), slow = without[name], read_by(act), milliseconds(act)
        more = not many.within(hot_reads.allowed(few))
        grown += more
        said = f"{few.rows:>7} {many.rows:>8} {few.pages:>7} {many.pages:>8} {quick:>6.1f} {slow:>7.1f}"
        print(f"{said}  {'GROWS: ' if more else ''}{name}")
        if more:
            print(plans)
    print(f"{grown} of {len(acts)} read more than twice as much, and {hot_reads.LIMIT} for a page of what is there")
    purge_for(60.0)
    return 1 if grown else 0


def purge_for(seconds: float) -> None:
    """What the worker's purge deletes of each kind in a second, and its longest batch, which is one transaction."""
    began = last = time.perf_counter()
    gone: Counter[str] = Counter()
    took: Counter[str] = Counter()
    longest = 0.0
    for name, count in purge.batches():
        now = time.perf_counter()
        gone[name] += count
        took[name] += now - last  # type: ignore[assignment]  # seconds
        longest, last = max(longest, now - last), now
        if now - began > seconds:
            break
    rates = ", ".join(f"{name} {gone[name] / took[name]:,.0f}" for name in gone if gone[name])
    print(f"purged in {last - began:.0f} s, rows a second: {rates}; the longest batch took {longest * 1000:.0f} ms")


def milliseconds(act: hot_reads.Act) -> float:
    """Of one call, whose writes are undone."""
    began = time.perf_counter()
    with transaction.atomic():
        act()
        transaction.set_rollback(True)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    raise SystemExit(compare(int(sys.argv[1])))
