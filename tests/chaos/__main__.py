"""``make chaos``: elicitations of every kind in the full set-up behind a proxy, while parts of it fail all the time."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from pathlib import Path

from tests.chaos.run import run
from tests.support.process import dismiss_guardian


def main() -> int:
    options = _options()
    seed = options.seed or secrets.token_hex(4)
    print(f"seed {seed}: {options.flows} flows, {options.faults} faults", flush=True)
    try:
        report = run(options.flows, options.faults, seed, say=lambda text: print(text, flush=True))
    finally:
        dismiss_guardian()
    if options.history:
        options.history.write_text("".join(json.dumps(line) + "\n" for line in report.lines), encoding="utf-8")
    print(report)
    return 1 if report.violations else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--flows", type=int, default=500)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", help="draws the same flows and faults again; the moments differ (default: a new one)")
    parser.add_argument("--history", type=Path, metavar="FILE", help="keep everything that was seen, as JSON lines")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
