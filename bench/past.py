"""``python -m bench.past``: what every list, page and job reads beside a million rows of each table ÷ beside none."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.support import binaries
from tests.support.process import clean_env
from tests.support.services import Postgres


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.past", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each table (default: 1,000,000)")
    options = parser.parse_args()
    programs = binaries.machine_postgres() or binaries.wheel_postgres()
    if programs is None:
        print("PostgreSQL is neither on the machine nor installed as a wheel.")
        return 2
    server = Postgres(programs).start()
    try:
        keys = {"SECRET_KEY": "for benchmarks only", "ELICIT_VAULT_KEYS": "k1:" + "A" * 43 + "="}
        env = clean_env({**keys, "DATABASE_URL": server.database()})
        command = [sys.executable, "-m", "bench.inside.past", str(options.rows)]
        return subprocess.run(command, check=False, env=env).returncode
    finally:
        server.remove()


if __name__ == "__main__":
    raise SystemExit(main())
