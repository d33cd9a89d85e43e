"""A1: a yes belongs to an API key, and not to the agent, host or app that asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from elicit_flows.sdk import Elicit
from elicit_flows.sdk.acp import AcpFlows
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.acp.client import LINK
from tests.sdk.acp.connection import Pair, capabilities
from tests.sdk.ahp.chat import BareChat
from tests.sdk.tesseron.conftest import App, Dial, dialled, new_app
from tests.sdk.tesseron.gateway import Refused

__all__ = ["dialled", "new_app"]
pytestmark = pytest.mark.anyio


@pytest.fixture
async def live(elicit_box: Service, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with elicit_box.elicit() as client:
        yield client


async def test_t122_another_agent_with_the_same_key_and_session_is_not_answered(
    live: Elicit, alice: ScriptedUser
) -> None:
    """Two programs, as their authors have to make them: ``AcpFlows`` takes nothing that would tell them apart."""
    async with Pair() as first, Pair() as second:
        agents = [AcpFlows(one.conn, capabilities(LINK), alice.claim, live) for one in (first, second)]
        asking = [asyncio.ensure_future(one.in_session("s-1", "call-1").confirm("May I?")) for one in agents]
        links = [await first.person.link(), await second.person.link()]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    assert links[0] != links[1], "one yes is for both"


async def test_t122_another_host_with_the_same_chat_and_key_finds_nothing(live: Elicit, alice: ScriptedUser) -> None:
    """Nor does the bridge: each host has a chat of that name."""
    async with BareChat(live, alice.claim) as chat:
        await chat.ask(lambda asks: asks.confirm("Really delete?"))
        async with BareChat(live, alice.claim, chat.uri) as other:
            assert await other.bridge.unfinished() == []


async def test_t122_another_app_with_the_same_key_and_action_is_not_answered(
    new_app: Callable[..., App], elicit_box: Service, dialled: Dial, alice: ScriptedUser
) -> None:
    """They say who they are to the gateway, and that counts for nothing."""
    asking, payroll = (
        new_app("-m", "tests.reviewed.agents.app", elicit_box.sandbox_url, "alice", name) for name in ("crm", "payroll")
    )
    async with dialled(asking, elicitation=False) as gateway:
        with pytest.raises(Refused) as waits:
            await gateway.invoke("agree")
    await asyncio.to_thread(alice.submit, waits.value.data["url"])
    async with dialled(payroll, elicitation=False) as gateway:
        with pytest.raises(Refused):
            assert await gateway.invoke("agree") is True, "it runs, and nobody has agreed to what it does"
