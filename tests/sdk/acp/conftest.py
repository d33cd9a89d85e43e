"""The example agent on a real service, and the protocol's own client, over stdio and over WebSocket."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest

from elicit_flows.sdk import Elicit, SyncElicit
from elicit_flows.sdk.testing import Service
from tests.sdk.acp.client import LINK, AcpClient
from tests.support.ports import free_port, is_free
from tests.support.process import PROJECT, Process

Connect = Callable[..., AcpClient]


@pytest.fixture(scope="package")
def service(elicit_box: Service) -> Iterator[SyncElicit]:
    """The agent's own view of the service."""
    with elicit_box.sync_elicit() as elicit:
        yield elicit


@pytest.fixture
async def elicit(elicit_box: Service, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with elicit_box.elicit() as client:
        yield client


def environment(elicit_box: Service) -> dict[str, str]:
    ours = {"ELICIT_URL": elicit_box.url, "ELICIT_API_KEY": elicit_box.api_key, "SANDBOX_URL": elicit_box.sandbox_url}
    return {**ours, "PYTHONPATH": str(PROJECT)}


def example(elicit_box: Service, *more: str) -> list[str]:
    return [sys.executable, str(PROJECT / "examples/acp_agent.py"), "--user", elicit_box.sandbox_url, "alice", *more]


@pytest.fixture(scope="package")
def address(elicit_box: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The example's, where it serves WebSocket."""
    port = free_port()
    command = example(elicit_box, "--port", str(port))
    process = Process(command, tmp_path_factory.mktemp("acp-agent") / "log", env=environment(elicit_box))
    process.start()
    process.wait_until(lambda: not is_free(port), "the agent listens")
    yield f"ws://127.0.0.1:{port}/acp"
    process.stop()


@pytest.fixture(scope="package")
def connect(elicit_box: Service, address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    """``connect("stdio")`` or ``connect("websocket")``: a client of the example, or on stdio of ``agent``."""
    with ExitStack() as stack:
        home = tmp_path_factory.mktemp("acp-client")

        def make(transport: str, agent: list[str] | None = None) -> AcpClient:
            command = [address] if transport == "websocket" else agent or example(elicit_box)
            client = AcpClient(home / "log", *command, env=environment(elicit_box))
            stack.callback(client.close)
            return client

        yield make


@pytest.fixture(scope="package", params=["stdio", pytest.param("websocket", marks=pytest.mark.slow)])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="package")
def client(connect: Connect, transport: str) -> AcpClient:
    """Shows links, and is shared by the tests: each has a session of its own."""
    found = connect(transport)
    found.initialize(LINK)
    return found


@pytest.fixture
def session(client: AcpClient) -> str:
    return client.session()
