"""The lines of docs/how-to/tesseron-app.md are run."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.tesseron.conftest import Api, App, Dial, does
from tests.support.process import PROJECT

pytestmark = pytest.mark.anyio

PAGE = (PROJECT / "docs/how-to/tesseron-app.md").read_text(encoding="utf-8")
BEFORE = """
import asyncio, sys
user = tuple(sys.argv[1:])
async def names(token):
    return f"{len(token.access_token) > 9} {token.token_type}"
"""
AFTER = """
async def main():
    print((await app.listen()).url, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.slow
async def test_the_lines_of_the_page_make_an_app(
    elicit_box: Service, new_app: Callable[..., App], dialled: Dial, alice: ScriptedUser, api: Api
) -> None:
    api.disconnect()
    [block] = re.findall(r"```python tesseron\n(.*?)```", PAGE, re.DOTALL)
    app = new_app("-c", BEFORE + block + AFTER, elicit_box.sandbox_url, "alice")
    async with dialled(app) as gateway:
        invocation = await gateway.begin("list_files")
        await does(alice.allow, await gateway.link())
        assert await gateway.end(invocation) == "True Bearer"
