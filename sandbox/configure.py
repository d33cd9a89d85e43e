"""``python -m sandbox.configure``: demo.toml for other addresses than the default ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from sandbox.settings import DEMO, SANDBOX_URL, SERVICE_URL


def configuration(service_url: str, sandbox_url: str) -> str:
    """The text of demo.toml with these two addresses."""
    parts = DEMO.read_text(encoding="utf-8").split(SANDBOX_URL)
    return sandbox_url.join(part.replace(SERVICE_URL, service_url) for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sandbox.configure", description=__doc__)
    parser.add_argument("--service-url", default=SERVICE_URL)
    parser.add_argument("--sandbox-url", default=SANDBOX_URL)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.write_text(configuration(args.service_url, args.sandbox_url), encoding="utf-8")


if __name__ == "__main__":
    main()
