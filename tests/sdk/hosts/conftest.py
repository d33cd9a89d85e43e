from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2
import pytest

from elicit_flows.sdk.testing import Service
from tests.sdk.hosts.wire import Http
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process


@pytest.fixture(scope="session")
def servers(elicit_box: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The addresses of two processes of one server, which share a key for their states."""
    home, key = tmp_path_factory.mktemp("mcp"), secrets.token_hex(32)
    env = {"ELICIT_URL": elicit_box.url, "ELICIT_API_KEY": elicit_box.api_key, "PYTHONPATH": str(PROJECT)}
    started = []
    for port in (free_port(), free_port()):
        command = [sys.executable, "-m", "tests.sdk.hosts.server", str(port), key]
        started.append((f"http://127.0.0.1:{port}/mcp", Process(command, home / str(port), env=env, cwd=PROJECT)))
    for _, process in started:
        process.start()
    for _, process in started:
        process.wait_for_output("Uvicorn running on")
    yield [url for url, _ in started]
    for _, process in started:
        process.stop()


@pytest.fixture
async def new_send(anyio_backend: str) -> AsyncIterator[Callable[..., Http]]:
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
        yield lambda *urls: Http(client, *urls)


@pytest.fixture
def send(servers: list[str], new_send: Callable[..., Http]) -> Http:
    """To one of the servers."""
    return new_send(servers[0])
