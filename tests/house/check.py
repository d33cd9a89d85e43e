"""``make check``: runs every check, even after a failure. The first word of a failure is the name of its check."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PYTHON = sys.executable

# A service as an operator would deploy it, for Django's own deploy check.
PRODUCTION = {
    "ELICIT_PUBLIC_URL": "https://flows.example.com",
    "SECRET_KEY": "a-key-for-the-deploy-check-only-" + "0123456789abcdefghijklmnopqrstuv",
    "ELICIT_VAULT_KEYS": "check:" + "A" * 43 + "=",
    "DATABASE_URL": "sqlite:///var/check.sqlite3",
}
CHECKS: list[tuple[str, list[str], dict[str, str]]] = [
    ("format", [str(BIN / "ruff"), "format", "--check", "--quiet", "."], {}),
    ("lint", [str(BIN / "ruff"), "check", "--quiet", "."], {}),
    ("types", [str(BIN / "mypy")], {}),
    ("layers", [str(BIN / "lint-imports")], {}),
    ("house rules", [PYTHON, "-m", "tests.house.rules"], {}),
    ("threat table", [PYTHON, "-m", "tests.house.threats"], {}),
    ("mutants", [PYTHON, "-m", "tests.house.mutants", "--list"], {}),
    ("migrations", [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run"], PRODUCTION),
    ("deploy", [PYTHON, "manage.py", "check", "--deploy", "--fail-level", "WARNING"], PRODUCTION),
]


def main() -> int:
    failed = [name for name, command, env in CHECKS if not passes(name, command, env)]
    print(f"{len(CHECKS) - len(failed)} checks passed" + (f", failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def passes(name: str, command: list[str], env: dict[str, str]) -> bool:
    done = subprocess.run(command, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, check=False)
    print(f"{'ok  ' if done.returncode == 0 else 'FAIL'}  {name}", flush=True)
    if done.returncode:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
