"""Every tool of the example, in both eras, by the library's own client and a person who uses the pages."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows.sdk import Elicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.clients import ERAS, Host, talking, text
from tests.sdk.mcp.conftest import Server

pytestmark = pytest.mark.anyio


def read_the_terms(user: ScriptedUser, url: str) -> None:
    user.go(url, "continue")
    back = parse_qs(urlsplit(user.url).query)["elicit_return"][0]
    user.open(back)


DOING: dict[str, Callable[[ScriptedUser, str], None]] = {
    "list_files": ScriptedUser.allow,
    "buy_report": ScriptedUser.pay,
    "store_api_key": lambda user, url: user.submit(url, api_key="sk-1"),
    "wipe_files": lambda user, url: user.submit(url, typed="confirm"),
    "choose_plan": lambda user, url: user.submit(url, plan="pro"),
    "accept_terms": read_the_terms,
}


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", DOING)
async def test_it_is_done_when_the_user_has_done_it(
    elicit_service: Service, server: Server, alice: ScriptedUser, era: str, tool: str
) -> None:
    async with Elicit() as elicit:
        for connection in await elicit.connections(alice.claim):
            await elicit.revoke(connection)
    host = Host(lambda url: DOING[tool](alice, url))
    async with talking(server.url, era, host) as client:
        assert text(await client.call_tool(tool, {})).startswith("done:")
    assert len(host.links) == 1
