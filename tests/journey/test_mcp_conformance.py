"""The conformance suite of MCP plays a remote server and its authorization server; the client is an agent of ours."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cast import program
from tests.support import box_config, on_stdio
from tests.support.box import Box
from tests.support.left_out import left_out
from tests.support.op import PEERS, Op, node
from tests.support.process import PROJECT, clean_env, fork_server

pytestmark = pytest.mark.slow

SUITE = PEERS / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
AGENT = program("conformant")
# Not here: auth/basic-cimd, whose client document has to be at an https address, which this service has not;
# auth/pre-registration, which is a provider that an operator configures; and the extensions but for one, below.
SCENARIOS = [
    "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "scope-from-www-authenticate",
    "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit",
    "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none", "resource-mismatch",
    "offline-access-scope", "offline-access-not-supported", "authorization-server-migration", "iss-supported",
    "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized",
    "metadata-issuer-mismatch",
]  # fmt: skip


@pytest.fixture(scope="module")
def service(new_box: Callable[..., Box]) -> Box:
    box = new_box("embedded")
    box.apply({"agent": [box_config.agent(AGENT, mcp_servers=["*"])]})
    return box


@pytest.mark.limit(180)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_suite_finds_no_fault(service: Box, corp: Op, tmp_path: Path, scenario: str) -> None:
    program = node()
    if not SUITE.exists():
        left_out("MCP's conformance suite: npm is missing (Debian: apt-get install npm)")
    told = {"ELICIT_URL": service.url, "ELICIT_API_KEY": AGENT.api_key, "ELICIT_ISSUER": corp.issuer}
    run(program, tmp_path, scenario, "mcp_conformance_client", told)


@pytest.mark.limit(180)
def test_the_suite_finds_no_fault_where_the_organisation_decides(new_box: Callable[..., Box], tmp_path: Path) -> None:
    program = node()
    if not SUITE.exists():
        left_out("MCP's conformance suite: npm is missing (Debian: apt-get install npm)")
    box = new_box("embedded", configure=False)
    told = {"ELICIT_URL": box.url, "ELICIT_API_KEY": AGENT.api_key, "BOX": json.dumps(box.env)}
    run(program, tmp_path, "enterprise-managed-authorization", "managed_conformance_client", told, "--force")


def run(program: Path, folder: Path, scenario: str, client: str, told: dict[str, str], *more: str) -> None:
    """Run one scenario with a client of this folder, to which ``told`` is the environment."""
    forked = shlex.join([sys.executable, *on_stdio.arguments(fork_server(), ["-m", f"tests.journey.{client}"])])
    command = [str(program), str(SUITE), "client", "--command", forked]
    ran = subprocess.run(
        [*command, "--scenario", f"auth/{scenario}", "--spec-version", "2026-07-28", "--timeout", "120000", *more,
         "-o", str(folder)],
        cwd=PROJECT, env={**clean_env(told), "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "OVERALL: PASSED" in ran.stdout + ran.stderr
