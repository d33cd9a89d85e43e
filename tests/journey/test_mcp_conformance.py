"""The conformance suite of MCP plays a remote server and its authorization server; the client is an agent of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cast import program
from tests.support import box_config
from tests.support.box import Box
from tests.support.left_out import left_out
from tests.support.op import PEERS, Op, node
from tests.support.process import PROJECT, clean_env

pytestmark = pytest.mark.slow

SUITE = PEERS / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
AGENT = program("conformant")
# Not here: auth/basic-cimd, whose client document has to be at an https address, which this service has not;
# auth/pre-registration, which is a provider that an operator configures; and the extensions.
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
    client = f"{sys.executable} -m tests.journey.mcp_conformance_client"
    command = [str(program), str(SUITE), "client", "--command", client, "--scenario", f"auth/{scenario}"]
    ran = subprocess.run(
        [*command, "--spec-version", "2026-07-28", "--timeout", "120000", "-o", str(tmp_path)],
        cwd=PROJECT, env={**clean_env(told), "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "OVERALL: PASSED" in ran.stdout + ran.stderr
