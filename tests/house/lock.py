"""Write the lock files anew: hashes for every platform, and no index address in them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes"]
OPTIONS += ["--no-emit-index-url", "--no-emit-find-links", "--quiet", "--custom-compile-command", "make lock"]


def main() -> None:
    uv = os.environ.get("UV", "uv")
    # The last two are for environments of their own, see tests/sdk/mcp/vendors/environments.py.
    for name in ("requirements", "requirements-dev", "tests/peers/python/mcp-1", "tests/peers/python/fastmcp-4"):
        subprocess.run(
            [uv, "pip", "compile", *OPTIONS, f"{name}.in", "--output-file", f"{name}.txt"], cwd=ROOT, check=True
        )


if __name__ == "__main__":
    sys.exit(main())
