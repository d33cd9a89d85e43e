"""docs/how-to/acp-agent.md: its block is run, and the tests that it names are there."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.acp.client import LINK
from tests.sdk.acp.connection import Pair, capabilities
from tests.support.process import PROJECT

PAGE = (PROJECT / "docs/how-to/acp-agent.md").read_text(encoding="utf-8")


@pytest.mark.anyio
async def test_the_tool_of_the_page_asks(
    elicit_box: Service, alice: ScriptedUser, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELICIT_URL", elicit_box.url)
    monkeypatch.setenv("ELICIT_API_KEY", elicit_box.api_key)
    [block] = re.findall(r"```python acp\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {"user": alice.claim}
    exec(compile(block, "docs/how-to/acp-agent.md", "exec"), names)
    async with Pair() as pair:
        flows = names["begin"](pair.conn, capabilities(LINK))
        working = asyncio.ensure_future(names["list_files"](flows, "s-1", "call-1"))
        link = asyncio.ensure_future(pair.person.link())
        await asyncio.wait({working, link}, return_when=asyncio.FIRST_COMPLETED)
        if link.done():  # nobody is asked where the account is connected
            await asyncio.to_thread(alice.allow, link.result())
        link.cancel()
        assert await working == "done"
        await flows.aclose()
