"""Writes the lock files again: with hashes for every platform, and without addresses of a package index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes"]
OPTIONS += ["--no-emit-index-url", "--no-emit-find-links", "--quiet", "--custom-compile-command", "make lock"]

# Those below tests/ are for environments of their own, see tests/support/environments.py.
FRAMEWORKS = (
    "claude-agent-sdk",
    "crewai",
    "google-adk",
    "langgraph",
    "llama-index",
    "openai-agents",
    "pydantic-ai",
    "smolagents",
)
PEERS = ["mcp-1", "mcp-servers", "fastmcp-4", "sdk", "sdk-tests", "x402-fastapi", "deploy"]
PEERS += [f"framework-{name}" for name in FRAMEWORKS]
FILES = ["requirements", "requirements-extras", "requirements-dev", *(f"tests/peers/python/{name}" for name in PEERS)]


def main() -> None:
    uv = os.environ.get("UV") or Path(sys.executable).with_name("uv")
    for name in FILES:
        subprocess.run(
            [uv, "pip", "compile", *OPTIONS, f"{name}.in", "--output-file", f"{name}.txt"], cwd=ROOT, check=True
        )


if __name__ == "__main__":
    sys.exit(main())
