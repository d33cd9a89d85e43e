"""A run of the suite as npm has it, in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.left_out import left_out
from tests.support.op import PEERS, node
from tests.support.process import Process, until

PACKAGE = PEERS / "node_modules" / "@modelcontextprotocol" / "conformance"
SECONDS = 50


@dataclass(frozen=True)
class Check:
    """``status``: SUCCESS, FAILURE, WARNING (a SHOULD), SKIPPED or INFO. ``details``: what the suite saw."""

    scenario: str
    id: str
    status: str
    error: str
    details: dict[str, Any]

    @property
    def passed(self) -> bool:
        return self.status == "SUCCESS"

    @property
    def tool_failed(self) -> bool:
        return bool((self.details.get("result") or {}).get("isError"))


@dataclass(frozen=True)
class Report:
    """``status`` is the suite's own verdict, 0 for good."""

    status: int
    said: str
    checks: tuple[Check, ...]

    def of(self, check: str) -> Check:
        (found,) = [one for one in self.checks if one.id == check]
        return found


def required(revision: str) -> set[str]:
    """The scenarios that a server has to pass."""
    return set(yaml.safe_load((PACKAGE / "requirements" / f"{revision}.yaml").read_text())["server"])


def run(url: str, revision: str, folder: Path, meanwhile: Callable[[], object]) -> Report:
    """``meanwhile`` is called again and again until the suite is through."""
    program = node()
    if not PACKAGE.exists():
        left_out("MCP's conformance suite: npm is missing (Debian: apt-get install npm)")
    script, results = str(PACKAGE / "dist" / "index.js"), folder / "results"
    command = [str(program), script, "server", "--url", url, "--requirements", revision, "-o", str(results)]
    suite = Process(command, folder / "suite.log", cwd=folder)
    suite.start()

    def is_through() -> bool:
        meanwhile()
        return not suite.alive

    try:
        until(is_through, "the suite is through", timeout=SECONDS, every=0.1)
    finally:
        status = suite.stop()
    checks = [check for file in sorted(results.glob("server-*/checks.json")) for check in _checks(file)]
    return Report(status, suite.output(), tuple(checks))


def _checks(file: Path) -> list[Check]:
    """The folder is called server-, the scenario's name, and when: -2026-07-28T01-02-03-004Z."""
    scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
    return [
        Check(scenario, one["id"], one["status"], one.get("errorMessage") or "", one.get("details") or {})
        for one in json.loads(file.read_text())
    ]
