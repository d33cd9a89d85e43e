"""Every wait ends when its caller says so, on time, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from elicit_flows.sdk import Elicit, ElicitError, StillWaiting
from tests.sdk.fake import DROP, ELICITATION, SILENCE, FakeService, Reply, problem, stream
from tests.support.machine import within
from tests.support.process import until

pytestmark = pytest.mark.anyio
ONE = ("GET", "/v1/elicitations/el_1")
FEED = ("GET", "/v1/events")
ALICE = ("https://idp.example", "alice")
SOON = 5.0  # seconds


@pytest.fixture
async def elicit(service: FakeService, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with Elicit(service.url, "key-of-the-tests") as client:
        yield client
        assert [task for task in asyncio.all_tasks() if "TestRunner" not in repr(task.get_coro())] == []
        assert connections(client) == []


def connections(client: Elicit) -> list[object]:
    """Those that are in use: an idle one may stay for the next call."""
    pool = client._transport.http._transport._pool  # type: ignore[attr-defined]
    return [one for one in pool.connections if not one.is_idle()]


async def asked(service: FakeService, times: int) -> None:
    await asyncio.to_thread(
        until, lambda: len(service.asked) >= times, f"the service is asked {times} times", timeout=SOON
    )


async def hung_up(service: FakeService) -> bool:
    return await asyncio.to_thread(service.hung_up.acquire, timeout=within(SOON))


@pytest.mark.slow
@pytest.mark.parametrize("timeout", [0.2, 1.4])
async def test_a_timeout_holds_although_the_service_says_nothing_at_all(
    service: FakeService, elicit: Elicit, timeout: float
) -> None:
    service.on(*ONE, Reply(ELICITATION), SILENCE)
    began = time.monotonic()
    elicitation = await elicit.wait("el_1", timeout=timeout)
    assert timeout <= time.monotonic() - began < timeout + within(1)
    assert not elicitation.over
    assert await hung_up(service)


async def test_a_timeout_holds_while_the_service_is_away(service: FakeService, elicit: Elicit) -> None:
    service.on(("POST"), "/v1/elicitations", Reply(ELICITATION, 201))
    service.on(*ONE, DROP, *[problem(503, "unavailable", {"Retry-After": "60"})] * 9)
    began = time.monotonic()
    with pytest.raises(StillWaiting):
        await elicit.confirm(ALICE, message="May I?", on_url=print, timeout=0.6)
    assert 0.6 <= time.monotonic() - began < within(1.6)


async def test_what_was_never_seen_within_the_timeout_is_unreachable(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, SILENCE)
    began = time.monotonic()
    with pytest.raises(ElicitError) as gone:
        await elicit.wait("el_1", timeout=0.1)
    assert gone.value.code == "unreachable"
    assert time.monotonic() - began < within(2)
    assert await hung_up(service)


async def test_a_timeout_of_nothing_looks_once(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, Reply(ELICITATION))
    assert not (await elicit.wait("el_1", timeout=0)).over
    assert len(service.asked) == 1


async def test_cancelling_the_task_hangs_up_and_leaves_the_client_usable(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, Reply(ELICITATION), SILENCE, Reply(ELICITATION))
    task = asyncio.create_task(elicit.wait("el_1"))
    await asked(service, 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await hung_up(service)
    assert (await elicit.get("el_1")).id == "el_1"


async def test_a_timeout_of_the_callers_own_is_a_cancellation_too(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, Reply(ELICITATION), SILENCE)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(elicit.wait("el_1", timeout=30), 0.3)
    assert await hung_up(service)


async def test_cancelling_while_it_pauses_between_tries_ends_it(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, problem(503, "unavailable", {"Retry-After": "60"}))
    task = asyncio.create_task(elicit.wait("el_1"))
    await asked(service, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(service.asked) == 1


@pytest.mark.parametrize("streamed", [True, False])
async def test_cancelling_the_reader_of_events_hangs_up(service: FakeService, elicit: Elicit, streamed: bool) -> None:
    service.on(*FEED, stream(": nothing yet\n\n", hold=True) if streamed else SILENCE)
    task = asyncio.create_task(anext(elicit.events(stream=streamed)))  # type: ignore[arg-type]
    await asked(service, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await hung_up(service)
