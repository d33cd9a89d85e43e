"""``elicit-flows``, the command that the wheel installs."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

NEEDS = 'elicit-flows guard needs mcp 2: pip install "elicit-flows[mcp]" "mcp>=2.3"'


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit status: 1 if the gateway cannot start, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="elicit-flows", description="Ask people before tools run.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    guard = commands.add_parser("guard", help="put guards in front of MCP servers")
    guard.add_argument(
        "--config", type=Path, required=True, metavar="FILE", help="the TOML file with servers and guards"
    )
    guard.add_argument("--check", action="store_true", help="start the servers, check the file against them, and end")
    told = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    return _guard(told.config, check=told.check)


def _guard(path: Path, *, check: bool) -> int:
    try:
        modules: Any = {
            name: import_module(f"elicit_flows.sdk.gateway.{name}") for name in ("config", "serve", "upstream")
        }
    except ImportError as missing:
        print(f"{NEEDS} ({missing})", file=sys.stderr)
        return 1
    known = import_module("elicit_flows.sdk.errors").ElicitError
    refusals = (modules["config"].ConfigError, modules["upstream"].StartError, modules["upstream"].MCPError, known)
    try:
        asyncio.run(modules["serve"].serve(modules["config"].read(path), check=check))
    except refusals as refused:
        print(refused, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if check:
        print(f"{path} fits its servers.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
