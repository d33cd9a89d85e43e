"""docs/how-to/mcp-client.md: its lines run against the example of an MCP server, and it names all that there is."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import elicit_flows.sdk.hosts
from elicit_flows.sdk.hosts import Playback, Scripted, run
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.hosts.wire import Http, text
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process

pytestmark = pytest.mark.anyio

PAGE = (PROJECT / "docs/how-to/mcp-client.md").read_text(encoding="utf-8")


async def test_the_lines_of_the_page_run(
    elicit_box: Service, elicit_user: Callable[[str], ScriptedUser], new_send: Callable[..., Http], tmp_path: Path
) -> None:
    port, alice = free_port(), elicit_user("alice")
    command = [
        sys.executable,
        "examples/mcp_server.py",
        "--port",
        str(port),
        "--user",
        alice.claim.iss,
        alice.claim.sub,
    ]
    env = {"ELICIT_URL": elicit_box.url, "ELICIT_API_KEY": elicit_box.api_key, "PYTHONPATH": str(PROJECT)}
    server = Process(command, tmp_path / "log", env=env, cwd=PROJECT)
    server.start()
    try:
        server.wait_for_output("Uvicorn running on")
        names = await left_by_the_block(alice=alice, send=new_send(f"http://127.0.0.1:{port}/mcp"))
    finally:
        server.stop()
    assert text(names["response"]).startswith("done:")
    exchanges = names["recorder"].exchanges
    assert len(exchanges) == 2
    again = await run(Playback(exchanges), exchanges[0]["request"], Scripted({"The key": "accept"}))
    assert text(again) == text(names["response"])


async def left_by_the_block(**names: Any) -> dict[str, Any]:
    [block] = re.findall(r"```python hosts\n(.*?)```", PAGE, re.DOTALL)
    left = eval(compile(block, "docs/how-to/mcp-client.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.isawaitable(left):
        await left
    return names


def test_the_page_tells_of_all_that_there_is() -> None:
    told = set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE))
    others = {"Diverged", "Exchange", "TooManyRounds", "Unanswered", "Unscripted", "Link", "WARNINGS"}
    assert told == set(elicit_flows.sdk.hosts.__all__) - others
