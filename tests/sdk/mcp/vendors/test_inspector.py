"""MCP's Inspector from the command line, against the example. It opens no links, so it gets them in words."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.conftest import Server
from tests.support.op import PEERS, node
from tests.support.process import clean_env

pytestmark = pytest.mark.slow

LAUNCHER = PEERS / "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
Inspect = Callable[..., Any]


@pytest.fixture(scope="module")
def program() -> str:
    return str(node("inspector"))


@pytest.fixture(params=["legacy", "modern"])
def inspect(request: pytest.FixtureRequest, program: str, server: Server, tmp_path: Path) -> Inspect:
    def inspect(*options: str) -> Any:
        command = [program, str(LAUNCHER), "--cli", server.url, "--protocol-era", request.param, "--format", "json"]
        env = clean_env({"HOME": str(tmp_path), "PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"})
        ran = subprocess.run([*command, *options], env=env, capture_output=True, text=True, check=False, timeout=60)
        assert ran.stdout, ran.stderr[-2000:]
        return json.loads(ran.stdout)

    return inspect


def test_the_inspector_lists_the_guarded_tools_and_calls_one_again(inspect: Inspect, alice: ScriptedUser) -> None:
    tools = inspect("--method", "tools/list")["result"]["tools"]
    assert [one["annotations"]["destructiveHint"] for one in tools if one["name"] == "wipe_files"] == [True]
    call = ("--method", "tools/call", "--tool-name", "choose_plan")
    [said] = inspect(*call)["result"]["content"]
    assert said["text"].startswith("waiting:")
    alice.submit(next(word for word in said["text"].split() if word.startswith("http")), plan="free")
    [said] = inspect(*call)["result"]["content"]
    assert said["text"] == "done: the plan is free"
