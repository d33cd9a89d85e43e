"""The blocks of docs/how-to/mcp-server.md, one after the other in one module, and its tools called."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from elicit_flows.sdk import mcp as mcp_flows
from elicit_flows.sdk.mcp.changes import Changes
from elicit_flows.sdk.mcp.context import Asker, LazyClient
from elicit_flows.sdk.mcp.followers import Followers
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.clients import Host, every_era, talking, text
from tests.support.process import PROJECT

pytestmark = pytest.mark.anyio
BLOCKS = re.findall(r"```python mcp\n(.+?)```", (PROJECT / "docs/how-to/mcp-server.md").read_text(), re.DOTALL)
DELETES = '    return f"done: {files} deleted"\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def namespace(elicit_service: Service, alice: ScriptedUser, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Without access tokens all callers are alice's."""
    asked = LazyClient(None)
    hers = Asker(asked, Settings(user=alice.claim), Followers(), Changes(asked))
    monkeypatch.setattr(mcp_flows._flows, "_asker", hers)
    tools, rules, typed, inside, keys, tasks = BLOCKS
    names: dict[str, Any] = {}
    for block in (tools, rules.replace(" ...\n", f"\n{DELETES}"), typed, inside, tasks):
        exec(compile(block, "docs/how-to/mcp-server.md", "exec", dont_inherit=True), names)
    exec(compile(keys, "docs/how-to/mcp-server.md", "exec", dont_inherit=True), dict(names))
    return names


@every_era
async def test_the_blocks_of_the_page_do_what_it_says(
    namespace: dict[str, Any], elicit_user: Callable[[str], ScriptedUser], alice: ScriptedUser, era: str
) -> None:
    async with mcp_flows._flows._asker.elicit():
        async with talking(namespace["app"], era, Host(alice.allow)) as client:
            assert text(await client.call_tool("list_files", {})) == "done: Bearer"
        async with talking(namespace["app"], era, Host(lambda url: alice.submit(url, plan="pro", seats="3"))) as client:
            assert text(await client.call_tool("order", {})) == "done: 3 seats of pro"
        async with talking(namespace["app"], era, Host(alice.submit)) as client:
            assert text(await client.call_tool("clean_up", {})) == "done: 2 files are deleted"
            assert text(await client.call_tool("delete", {"files": 3})) == "done: 3 deleted"
            assert text(await client.call_tool("delete", {"files": 11})) == "done: 11 deleted"
