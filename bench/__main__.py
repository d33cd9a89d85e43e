"""``make bench``: measure every row, print it, and write it down where asked.

Each row takes both sides in one run, by turns, and says the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from bench import report
from bench.findings import Finding, LeftOut
from bench.ground import Ground
from bench.plan import Plan
from bench.rows import (
    callback,
    create,
    fetch,
    history,
    page,
    proxied,
    refreshes,
    reseal,
    scaling,
    start,
    starvation,
    waiting,
    webhooks,
)

DESCRIPTORS = 20_000
ROWS: dict[str, ModuleType] = {
    "create": create,
    "fetch": fetch,
    "proxied": proxied,
    "callback": callback,
    "waiting": waiting,
    "webhooks": webhooks,
    "refreshes": refreshes,
    "starvation": starvation,
    "reseal": reseal,
    "history": history,
    "scaling": scaling,
    "page": page,
    "start": start,
}


def main() -> int:
    options = _options()
    plan = Plan.short(options.rounds) if options.quick else Plan(rounds=options.rounds)
    _more_descriptors()
    found: list[tuple[str, list[Finding]]] = []
    failed: list[str] = []
    with Ground() as ground:
        head = ground.describe()
        report.say_head(head)
        for name in options.only or ROWS:
            found.append((ROWS[name].TITLE, list(_told(ground, plan, name, failed))))
    report.say_end(found)
    if options.write:
        report.write(options.write, head, plan, found)
    if failed:
        print(f"\nnot measured to the end: {', '.join(failed)}")
    return 1 if failed else 0


def _more_descriptors() -> None:
    """As many as the service's own limits are reckoned with; every child inherits it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, DESCRIPTORS), hard))


def _told(ground: Ground, plan: Plan, name: str, failed: list[str]) -> Iterator[Finding]:
    """Say each finding as soon as it is there. What failed is named in ``failed``, and the other rows are measured."""
    began = time.monotonic()
    print(f"\n{ROWS[name].TITLE}", flush=True)
    try:
        for finding in ROWS[name].measure(ground, plan):
            report.say(finding)
            yield finding
    except LeftOut as reason:
        print(f"  left out: {reason}")
    except RuntimeError as error:
        failed.append(name)
        print(f"  failed: {error}")
    print(f"  ({time.monotonic() - began:.0f} s)", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured (default: 5)")
    parser.add_argument("--only", action="append", choices=list(ROWS), metavar="NAME", help=f"one of {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="short measurements and small crowds, for a first look")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into FILE, below its prose")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
