"""MCP's conformance suite on authorization, with this service as the client: remote MCP servers by their address."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cast import program
from tests.sdk.mcp.conformance.suite import PACKAGE
from tests.support import box_config, on_stdio
from tests.support.box import Box
from tests.support.left_out import left_out
from tests.support.op import Op, node
from tests.support.process import PROJECT, Process, clean_env, fork_server, until

pytestmark = pytest.mark.slow

CALLER = program("caller")
SCENARIOS = tomllib.loads((Path(__file__).parent / "authorization.toml").read_text())


@pytest.fixture(scope="module")
def service(new_box: Callable[..., Box]) -> Box:
    box = new_box("embedded")
    box.apply({"agent": [box_config.agent(CALLER, mcp_servers=["*"])]})
    return box


def _has_ended(suite: Process) -> bool:
    return not suite.alive


@pytest.mark.limit(600)
def test_each_scenario_ends_as_it_is_written_down(service: Box, corp: Op, tmp_path: Path) -> None:
    if not PACKAGE.exists():
        left_out("MCP's conformance suite: npm is missing (Debian: apt-get install npm)")
    env = {"ELICIT_URL": service.url, "ELICIT_API_KEY": CALLER.api_key, "CORP_ISSUER": corp.issuer}
    client = on_stdio.arguments(fork_server(), ["-m", "tests.sdk.mcp.conformance.client"])
    command = shlex.join([sys.executable, *client])
    failing = {}
    for name in (*SCENARIOS["passes"], *SCENARIOS["fails"]):
        results = tmp_path / name
        suite = Process(
            [str(node()), str(PACKAGE / "dist" / "index.js"), "client", "--command", command, "--scenario", name,
             "--timeout", "40000", "-o", str(results)],
            tmp_path / f"{name.replace('/', '-')}.log", cwd=PROJECT, env=clean_env(env),
        )  # fmt: skip
        suite.start()
        try:
            until(partial(_has_ended, suite), f"{name} ends", timeout=60)
        finally:
            suite.stop()
        checks = [one for file in results.rglob("checks.json") for one in json.loads(file.read_text())]
        assert checks, suite.output()
        if wrong := {one["id"] for one in checks if one["status"] == "FAILURE"}:
            failing[name] = sorted(wrong)
    assert failing == {name: sorted(one["checks"]) for name, one in SCENARIOS["fails"].items()}
